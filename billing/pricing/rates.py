"""Prices as pure integer arithmetic; migration 0005 has the same rules as SQL functions."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from billing.constants import DEPOSIT_HOURS, EARLY_END_BPS, FUNDED_AT_MOST, HOLD_HOURS, HOUR_US
from billing.pricing.tariffs import Tariff
from common.money import divide_half_up

MICROSECONDS_PER_HOUR = HOUR_US
_BPS = 10_000
_MICROSECOND = timedelta(microseconds=1)


def elapsed_microseconds(opened_at: datetime, until: datetime) -> int:
    return (until - opened_at) // _MICROSECOND


def cost(tariff: Tariff, used_us: int) -> int:
    """Return the cost of the first `used_us` microseconds of continuous use, rounded half up once."""
    return divide_half_up(_numerator(tariff, used_us), tariff.hours * HOUR_US)


def charge(tariff: Tariff, from_us: int, to_us: int) -> int:
    """Return the cost of [from, to), in microseconds of continuous use.

    It is a difference of cumulative sums, so the total never depends on where it is cut (D8).
    """
    return cost(tariff, to_us) - cost(tariff, from_us)


def split_fee(charge_micros: int, fee_bps: int) -> tuple[int, int]:
    """Return the platform's fee and the host's share of a charge."""
    fee = divide_half_up(charge_micros * fee_bps, _BPS)
    return fee, charge_micros - fee


def split_charge(tariff: Tariff, fee_bps: int, cut: tuple[int, int]) -> tuple[int, int]:
    """Return fee and host's share of [from, to).

    Like the charge, they do not depend on cuts: neither side gains by finer ones.
    """
    (fee_before, share_before), (fee_after, share_after) = (split_fee(cost(tariff, us), fee_bps) for us in cut)
    return fee_after - fee_before, share_after - share_before


def stretches(tariff: Tariff, from_us: int, to_us: int) -> Iterator[tuple[int, int]]:
    """Return [from, to) cut where the rate changes, so that each part has one rate."""
    cuts = [from_us, *(begins_us for begins_us, _rate in tariff.steps if from_us < begins_us < to_us), to_us]
    return pairwise(cuts)


def hold_for(rate_micros: int, hours: int = HOLD_HOURS) -> int:
    """Return the money to hold for whole hours; exact, since a rate is whole micro-units per hour."""
    return rate_micros * hours


def hold_of(tariff: Tariff, hours: int = HOLD_HOURS) -> int:
    """Return the money to hold for the first whole hours of a tariff, at their highest possible cost."""
    return -(-_numerator(tariff.worst, hours * HOUR_US) // (tariff.hours * HOUR_US))


def funded_span(held_micros: int, tariff: Tariff, used_us: int = 0) -> timedelta:
    """Return how long `held_micros` lasts after `used_us` of continuous use.

    Rounded down, so that the charge never exceeds the hold.
    """
    worst, used = (tariff, used_us) if tariff.most_micros is None else (tariff.worst, 0)
    left = (held_micros + cost(worst, used)) * worst.hours * HOUR_US - _numerator(worst, used)
    span, begins = 0, used
    for ends, rate in [(begins_us, worst.rate_at(begins_us - 1)) for begins_us, _ in worst.steps if begins_us > used]:
        if rate and left < rate * (ends - begins):
            return _span(span + max(0, left) // rate)
        left, span, begins = left - rate * (ends - begins), span + ends - begins, ends
    rate = worst.rate_at(begins)
    return FUNDED_AT_MOST if rate == 0 else _span(span + max(0, left) // rate)


def _span(microseconds: int) -> timedelta:
    return min(microseconds, FUNDED_AT_MOST // _MICROSECOND) * _MICROSECOND


def _numerator(tariff: Tariff, used_us: int) -> int:
    """Return the price of `used_us`, multiplied by the microseconds that a rate is for."""
    total, rate_before = tariff.rate_micros * used_us, tariff.rate_micros
    for begins_us, rate in tariff.steps:
        total += (rate - rate_before) * max(0, used_us - begins_us)
        rate_before = rate
    return total


def deposit_of(*, rate_micros: int, total_micros: int) -> int:
    """Return the deposit of a term paid by the hour.

    DEPOSIT_HOURS at its discounted rate, but never more than the whole term.
    """
    return min(DEPOSIT_HOURS * rate_micros, total_micros)


def early_end(charged_micros: int, *, unit_micros: int, list_unit_micros: int, total_micros: int) -> int:
    """Return the total cost of a term that ends now.

    It is the use at the price without discount, plus EARLY_END_BPS; never more than the whole term, never less
    than what was charged.
    """
    if unit_micros == 0:
        return charged_micros
    anew = charged_micros * list_unit_micros * (_BPS + EARLY_END_BPS)
    return max(charged_micros, min(divide_half_up(anew, unit_micros * _BPS), total_micros))
