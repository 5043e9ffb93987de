"""Prices that a host owner may set: one list for all modes, and its validation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from common.errors import wrong_field
from common.money import format_money
from marketplace.constants import MAX_DISCOUNT_BPS, MAX_TIERS, PRICE_MICROS_MAX, TIER_HOURS_MAX
from marketplace.pricing.prices import TERM_HOURS

_BPS_PER_PERCENT = 100
_BPS = 10_000


@dataclass(frozen=True)
class PriceList:
    """Everything that a quote of an offer depends on.

    A mode without its term, steps or floor is not sold.
    """

    price_micros: int
    reserved_discounts: Mapping[str, int]
    tiers: Sequence[Sequence[int]]
    spot_floor_micros: int | None
    disk_micros_gb_day: int
    hold_bps: int


def check_price_list(prices: PriceList, *, listed: bool) -> None:
    """Refuse a price list that is not allowed.

    Raises:
        InvalidInput: a price is not allowed; the error names the field.
    """
    if not 0 <= prices.price_micros <= PRICE_MICROS_MAX or (listed and prices.price_micros == 0):
        raise wrong_field("price_hourly", "An offer on the market needs a price above zero.")
    if not 0 <= prices.disk_micros_gb_day <= PRICE_MICROS_MAX:
        raise wrong_field("disk_gb_day", "A disk price is zero or more.")
    if not 0 <= prices.hold_bps <= _BPS:
        raise wrong_field("hold_share", "GPUs that a stopped instance keeps cost 0 to 100 % of the hourly price.")
    floor = prices.spot_floor_micros
    if floor is not None and not 0 < floor <= prices.price_micros:
        raise wrong_field("spot_floor", f"The spot floor must be above 0 and at most {format_money(prices.price_micros)}.")
    for term, off_bps in prices.reserved_discounts.items():
        if term not in TERM_HOURS:
            raise wrong_field("reserved_discounts", f"The terms are {', '.join(TERM_HOURS)}; {term!r} is none.")
        _check_discount("reserved_discounts", off_bps, least=0)
    _check_tiers(prices.tiers)


def _check_tiers(tiers: Sequence[Sequence[int]]) -> None:
    if len(tiers) > MAX_TIERS:
        raise wrong_field("tiers", f"There are at most {MAX_TIERS} steps.")
    for hours, off_bps in tiers:
        if not 1 <= hours <= TIER_HOURS_MAX:
            raise wrong_field("tiers", f"A step begins at 1 to {TIER_HOURS_MAX} hours.")
        _check_discount("tiers", off_bps, least=1)
    for (hours, off_bps), (later, more_off) in pairwise(tiers):
        if later <= hours or more_off <= off_bps:
            raise wrong_field("tiers", "Each step begins later than the one before it and takes more off.")


def _check_discount(field: str, off_bps: int, *, least: int) -> None:
    if not least <= off_bps <= MAX_DISCOUNT_BPS:
        most = MAX_DISCOUNT_BPS // _BPS_PER_PERCENT
        raise wrong_field(field, f"A discount is at most {most} %, in steps of 0.01 %, and not negative.")
