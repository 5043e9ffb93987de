"""Parsing of the API's requests for quotes and instances into arguments of services."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import User
from common.errors import FieldError, InvalidInput, wrong_field
from common.ids import parse_public_id
from common.money import parse_money
from instances.access.credentials import read_networks
from instances.launch.settings import validate
from instances.launch.templates import find_template, settings_with
from instances.orders.quote_claims import Expected
from instances.web.launch.serializers import given_settings, without_settings
from instances.web.resources import INSTANCE_PREFIX, OFFER_PREFIX, QUOTE_PREFIX
from instances.web.volumes.resources import VOLUME_PREFIX

_OF_A_CHANGE = ("billing_mode", "term", "payment", "hours")
_SAME_NAMES = ("image", "gpu_count", "billing_mode", "data_disk_gb", "term", "payment", "signature")


def parse_quote_request(wanted: dict[str, Any], renter: User, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `create_quote` from a validated `QuoteIn`; null is the same as left out.

    `sent` is the request itself: what it leaves out comes from the launch template, if it names one.
    """
    options = {name: value for name, value in without_settings(wanted).items() if value is not None}
    if "offer" not in options:
        raise InvalidInput("Specify what to rent.", errors=[FieldError("offer", "required", "This field is required.")])
    options["offer_id"] = parse_public_id(OFFER_PREFIX, options.pop("offer"))
    if "max_price" in options:
        options["max_price_micros"] = parse_money(options.pop("max_price"))
    if "allow_from" in options:
        options["networks"] = read_networks(options.pop("allow_from"))
    return options | _launch_options(options, wanted, renter, sent)


def _launch_options(
    options: dict[str, Any], wanted: dict[str, Any], renter: User, sent: Mapping[str, Any]
) -> dict[str, Any]:
    """Take the template out of the options, and return the settings and whatever else follows from it."""
    launch, inputs = validate(given_settings(wanted)), options.pop("inputs", {})
    named = options.pop("launch_template", None)
    if named is None:
        if inputs:
            raise wrong_field("inputs", _("Inputs need a launch template."))
        return {"launch": launch}
    template = find_template(renter, named)
    found: dict[str, Any] = {"launch": settings_with(template, inputs, launch), "template": template}
    if sent.get("image") is None:
        found["image"] = template.image
    if sent.get("data_disk_gb") is None and template.data_disk_gb is not None:
        found["data_disk_gb"] = template.data_disk_gb
    return found


def parse_change_request(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `quote_change` from a validated `QuoteIn` with an instance.

    Fields that the instance itself determines are ignored.
    """
    options = {name: wanted[name] for name in _OF_A_CHANGE if wanted.get(name) is not None}
    return {"instance_id": parse_public_id(INSTANCE_PREFIX, wanted["instance"]), **options}


def parse_expected(wanted: dict[str, Any], renter: User | None = None) -> Expected:
    """Return what the quote must say, from a validated `InstanceIn`."""
    offer, most, launch = wanted.get("offer"), wanted.get("max_total"), given_settings(wanted)
    named, inputs = wanted.get("launch_template"), wanted.get("inputs") or {}
    template = find_template(renter, named) if named and renter is not None else None
    if inputs and template is None:
        raise wrong_field("inputs", _("Inputs need a launch template."))
    settings = validate(launch) if launch else None
    if template is not None and (launch or inputs):
        settings = settings_with(template, inputs, validate(launch))
    return Expected(
        offer_id=None if offer is None else parse_public_id(OFFER_PREFIX, offer),
        max_total_micros=None if most is None else parse_money(most),
        launch=settings,
        template_version=None if template is None else template.version_id,
        **{name: wanted.get(name) for name in _SAME_NAMES},
    )


def parse_choices(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return what the renter chooses beside the quote, from a validated `InstanceIn`."""
    keys = wanted.get("ssh_key_ids")
    return {
        "name": wanted["name"],
        "ssh_key_ids": None if keys is None else [parse_public_id("key", text) for text in keys],
        "auto_renew": wanted["auto_renew"],
        "extra_ports": wanted["ports"],
        "udp_ports": wanted["udp_ports"],
        "volume_ids": read_volume_ids(wanted["volume_ids"]),
        "data_sets": wanted["data_sets"],
    }


def read_volume_ids(texts: list[str] | None) -> list[UUID] | None:
    return None if texts is None else [parse_public_id(VOLUME_PREFIX, text) for text in texts]


def parse_order(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a conversion or extension from a validated `ConvertIn` or `ExtendIn`."""
    quote_id = wanted.get("quote_id")
    return {
        "quote_id": None if quote_id is None else parse_public_id(QUOTE_PREFIX, quote_id),
        "auto_renew": wanted["auto_renew"],
        "expected": parse_expected(wanted),
    }
