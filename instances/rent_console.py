"""The rent page beside its form: where the choices begin, and what the other billing modes would cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext

from billing.estimates import HOURLY, SPOT, TIERED, Plan
from common.ids import public_id
from common.money import format_money
from instances.plans import offer_plan, plain_number
from marketplace.console.words import LENGTH_WORDS, MODE_WORDS
from marketplace.policy import DATA_DISK_GB_MAX
from marketplace.prices import TERM_HOURS, all_in_micros
from marketplace.selectors import OfferView


@dataclass(frozen=True)
class OtherMode:
    """A way to pay that can be compared but not ordered. The rate is of all GPUs, disk included, to begin with."""

    label: str
    rate_micros: int
    note: str | Promise = ""


def first_wishes(params: QueryDict) -> dict[str, str]:
    """What the address of the page chooses, as the market's rows link to it."""
    found = {name: params.get(name, "") for name in ("gpu_count", "data_disk_gb", "image")}
    numbers = {name: value for name, value in found.items() if value.isdecimal() and int(value) <= DATA_DISK_GB_MAX}
    return numbers | ({"image": found["image"]} if found["image"] else {})


def asked_mode(params: QueryDict) -> str | Promise:
    """The mode that the address asks for, where it is one that cannot be ordered."""
    mode = params.get("billing_mode", "")
    return "" if mode == HOURLY else MODE_WORDS.get(mode, "")


def other_modes(offer: OfferView, wishes: Mapping[str, Any]) -> list[OtherMode]:
    """Tiers, each reserved term, and spot, where the offer sells them."""
    plans: list[tuple[str, Plan | None]] = [(str(MODE_WORDS[TIERED]), offer_plan(offer, TIERED))]
    plans += [
        (f"{MODE_WORDS['reserved']}, {LENGTH_WORDS[term]}", offer_plan(offer, "reserved", term=term)) for term in TERM_HOURS
    ]
    plans.append((str(MODE_WORDS[SPOT]), offer_plan(offer, SPOT)))
    return [_other(offer, wishes, label, plan) for label, plan in plans if plan is not None]


def calculator_query(offer: OfferView, wishes: Mapping[str, Any]) -> str:
    """The same work in the calculator."""
    same = {name: wishes[name] for name in ("hours", "gpu_count", "data_disk_gb")}
    return urlencode({"offer": public_id("offr", offer.id), **same})


def _other(offer: OfferView, wishes: Mapping[str, Any], label: str, plan: Plan) -> OtherMode:
    rate = all_in_micros(
        unit_micros=plan.unit_micros,
        disk_micros_gb_day=offer.disk_micros_gb_day,
        data_disk_gb=wishes["data_disk_gb"],
        gpu_count=wishes["gpu_count"],
    )[1]
    return OtherMode(label, rate, _note(plan, wishes["gpu_count"]))


def _note(plan: Plan, gpu_count: int) -> str | Promise:
    match plan.mode:
        case "tiered":
            step = plan.steps[0]
            names = {"price": format_money(step.unit_micros * gpu_count), "hours": plain_number(step.from_hours)}
            return gettext("%(price)s from %(hours)s h on") % names
        case "spot":
            return gettext("the floor; the market may ask more")
        case _:
            return ""
