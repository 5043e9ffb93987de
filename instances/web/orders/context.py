"""Template context of the rental page: first choices, images, and prices in the other billing modes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext

from accounts.models import User
from billing.pricing.estimates import HOURLY, SPOT, TIERED, Plan
from common.http.fields import parse_whole_number
from common.ids import public_id
from common.money import format_money
from instances.orders.image_compatibility import image_fits
from instances.pricing.price_plans import offer_plan, plain_number, terms_of
from marketplace.constants import DATA_DISK_GB_MAX
from marketplace.leasing.offer_selectors import OfferView
from marketplace.pricing.prices import all_in_micros
from marketplace.search.messages import LENGTH_LABELS, MODE_LABELS
from marketplace.search.volume_locality import MOUNTABLE
from storage.images.selectors import active_images, usable_images

if TYPE_CHECKING:
    from storage.models import Image

_WORDS = ("image", "billing_mode", "term", "payment", "max_price")


@dataclass(frozen=True)
class OtherMode:
    """A billing mode to compare.

    The rate is of all GPUs, disk included, at the beginning.
    """

    label: str
    rate_micros: int
    note: str | Promise = ""


def first_choices(params: QueryDict) -> dict[str, Any]:
    """Return the first choices from the page's address, as rows of the market link to it."""
    found = {name: params.get(name, "") for name in ("gpu_count", "data_disk_gb")}
    numbers = {name: text for name, text in found.items() if parse_whole_number(text, most=DATA_DISK_GB_MAX) is not None}
    words = {name: str(params[name]) for name in _WORDS if params.get(name)}
    volumes = {"volume_ids": [params[MOUNTABLE]]} if params.get(MOUNTABLE) else {}
    return numbers | words | volumes


def other_modes(offer: OfferView, options: Mapping[str, Any]) -> list[OtherMode]:
    """Return the modes that the offer sells: hourly, tiered, each reserved term, and spot."""
    plans: list[tuple[str, Plan | None]] = [
        (str(MODE_LABELS[HOURLY]), offer_plan(offer, HOURLY)),
        (str(MODE_LABELS[TIERED]), offer_plan(offer, TIERED)),
    ]
    plans += [
        (f"{MODE_LABELS['reserved']}, {LENGTH_LABELS[term]}", offer_plan(offer, "reserved", term=term))
        for term in terms_of(offer)
    ]
    plans.append((str(MODE_LABELS[SPOT]), offer_plan(offer, SPOT)))
    return [_other(offer, options, label, plan) for label, plan in plans if plan is not None]


def calculator_query(offer: OfferView, options: Mapping[str, Any]) -> str:
    """Return the query of the calculator's page for the same work."""
    same = {name: options[name] for name in ("hours", "gpu_count", "data_disk_gb") if options[name] is not None}
    return urlencode({"offer": public_id("offr", offer.id), **same})


def _other(offer: OfferView, options: Mapping[str, Any], label: str, plan: Plan) -> OtherMode:
    rate = all_in_micros(
        unit_micros=plan.unit_micros,
        disk_micros_gb_day=offer.disk_micros_gb_day,
        data_disk_gb=options["data_disk_gb"],
        gpu_count=options["gpu_count"],
    )[1]
    return OtherMode(label, rate, _note(plan, options["gpu_count"]))


def _note(plan: Plan, gpu_count: int) -> str | Promise:
    match plan.mode:
        case "tiered":
            step = plan.steps[0]
            names = {"price": format_money(step.unit_micros * gpu_count), "hours": plain_number(step.from_hours)}
            return gettext("%(price)s after %(hours)s h") % names
        case "spot":
            return gettext("now; the spot price can rise")
        case _:
            return ""


def rent_images(user: User, offer: OfferView, chosen: str) -> list["Image"]:
    """Return images that can run on the offer's host, and the one that was named.

    A named image that cannot run there is included, so that its quote says why.
    """
    own = [image for image in active_images(user) if image_fits(offer, image)]
    others = usable_images(user).filter(slug=chosen) if chosen and chosen not in {image.slug for image in own} else []
    return [*own, *others]
