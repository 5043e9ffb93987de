"""Parsing of the API's requests for quotes and instances into arguments of services."""

from typing import Any
from uuid import UUID

from common.errors import FieldError, InvalidInput
from common.ids import parse_public_id
from common.money import parse_money
from instances.orders.quote_claims import Expected
from instances.web.resources import INSTANCE_PREFIX, OFFER_PREFIX, QUOTE_PREFIX
from instances.web.volumes.resources import VOLUME_PREFIX

_OF_A_CHANGE = ("billing_mode", "term", "payment", "hours")
_SAME_NAMES = ("image", "gpu_count", "billing_mode", "data_disk_gb", "term", "payment", "signature")


def parse_quote_request(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `create_quote` from a validated `QuoteIn`; null is the same as left out."""
    wishes = {name: value for name, value in wanted.items() if value is not None}
    if "offer" not in wishes:
        raise InvalidInput("Say what is to be rented.", errors=[FieldError("offer", "required", "This field is required.")])
    wishes["offer_id"] = parse_public_id(OFFER_PREFIX, wishes.pop("offer"))
    if "max_price" in wishes:
        wishes["max_price_micros"] = parse_money(wishes.pop("max_price"))
    return wishes


def parse_change_request(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of `quote_change` from a validated `QuoteIn` with an instance.

    Fields that the instance itself determines are ignored.
    """
    wishes = {name: wanted[name] for name in _OF_A_CHANGE if wanted.get(name) is not None}
    return {"instance_id": parse_public_id(INSTANCE_PREFIX, wanted["instance"]), **wishes}


def parse_expected(wanted: dict[str, Any]) -> Expected:
    """Return what the quote must say, from a validated `InstanceIn`."""
    offer, most = wanted.get("offer"), wanted.get("max_total")
    return Expected(
        offer_id=None if offer is None else parse_public_id(OFFER_PREFIX, offer),
        max_total_micros=None if most is None else parse_money(most),
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
