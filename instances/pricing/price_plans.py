"""An offer's prices as price plans, one for each billing mode that it sells."""

from fractions import Fraction
from typing import Final

from billing.pricing.estimates import HOURLY, MODES, RESERVED, SPOT, TIERED, UPFRONT, Line, Plan, Step, round_half_up
from common import clock
from marketplace.constants import FREE_DATA_DISK_GB
from marketplace.leasing.offer_selectors import OfferView
from marketplace.pricing.offer_requirements import terms_within
from marketplace.pricing.prices import TERM_HOURS, discounted, unit_price_micros

FIRST_TERM: Final = "month"
_HOURS_PER_DAY: Final = 24
_PLACES: Final = 6


def offer_plan(offer: OfferView, mode: str, *, term: str = FIRST_TERM, payment: str = UPFRONT) -> Plan | None:
    """Return the plan of a mode, or None where the offer does not sell the mode or term.

    Spot is priced at what the market pays now.
    """
    unit_micros = unit_price_micros(
        mode=mode,
        price_micros=offer.price_micros,
        term=term,
        reserved_discounts=offer.reserved_discounts,
        tiers=offer.tiers,
        spot_floor_micros=offer.spot_floor_micros,
    )
    if unit_micros is None:
        return None
    match mode:
        case "reserved":
            return Plan(RESERVED, unit_micros, (), TERM_HOURS[term], payment, after_micros=offer.price_micros)
        case "tiered":
            steps = [Step(Fraction(hours), discounted(offer.price_micros, off_bps)) for hours, off_bps in offer.tiers]
            return Plan(TIERED, unit_micros, tuple(steps))
        case "spot":
            return Plan(SPOT, max(unit_micros, offer.spot_now_micros or 0))
        case _:
            return Plan(HOURLY, unit_micros)


def terms_of(offer: OfferView) -> list[str]:
    """Return the terms that can be reserved now, the shortest first."""
    return terms_within(offer.reserved_discounts, listed_until=offer.listed_until, now=clock.now())


def offer_plans(offer: OfferView, *, term: str = FIRST_TERM, payment: str = UPFRONT) -> dict[str, Plan]:
    """Return the plans of the modes that are sold, in the order of the modes."""
    found = {mode: offer_plan(offer, mode, term=term, payment=payment) for mode in MODES}
    return {mode: plan for mode, plan in found.items() if plan is not None}


def disk_line(offer: OfferView, *, data_disk_gb: int, hours: Fraction) -> Line | None:
    """Return the cost of the disk above the free quota, or None within it.

    It is GB × days × price, rounded once.
    """
    paid_gb = data_disk_gb - FREE_DATA_DISK_GB
    if paid_gb <= 0:
        return None
    gb_days = paid_gb * hours / _HOURS_PER_DAY
    amount = round_half_up(gb_days * offer.disk_micros_gb_day)
    return Line("Data disk above the free quota", gb_days, "GB-day", offer.disk_micros_gb_day, amount)


def plain_number(value: Fraction) -> str:
    """Return a number with up to six decimal places, rounded half up, without trailing zeros.

    8/3 is "2.666667".
    """
    millionths = round_half_up(value * 10**_PLACES)
    units, rest = divmod(abs(millionths), 10**_PLACES)
    text = f"{units}.{rest:0{_PLACES}d}".rstrip("0").rstrip(".")
    return f"-{text}" if millionths < 0 else text
