"""Prices as pure integer arithmetic; the same rules stand as SQL functions in migration 0002."""

from datetime import datetime, timedelta

from billing.policy import FUNDED_AT_MOST, HOLD_HOURS
from common.money import divide_half_up

MICROSECONDS_PER_HOUR = 3_600_000_000
_BPS = 10_000
_MICROSECOND = timedelta(microseconds=1)


def elapsed_microseconds(opened_at: datetime, until: datetime) -> int:
    return (until - opened_at) // _MICROSECOND


def cumulative_micros(rate_micros_per_hour: int, elapsed_us: int) -> int:
    """What the first `elapsed_us` microseconds since the meter opened cost, rounded half up."""
    return divide_half_up(rate_micros_per_hour * elapsed_us, MICROSECONDS_PER_HOUR)


def charge(rate_micros_per_hour: int, from_us: int, to_us: int) -> int:
    """What [from, to) costs. A difference of cumulative sums, so the total never depends on where it is cut (D8)."""
    return cumulative_micros(rate_micros_per_hour, to_us) - cumulative_micros(rate_micros_per_hour, from_us)


def split_fee(charge_micros: int, fee_bps: int) -> tuple[int, int]:
    """The platform's fee and the host's share of a charge."""
    fee = divide_half_up(charge_micros * fee_bps, _BPS)
    return fee, charge_micros - fee


def split_charge(rate_micros_per_hour: int, fee_bps: int, from_us: int, to_us: int) -> tuple[int, int]:
    """Fee and host's share of [from, to), cut-invariant like the charge: neither side gains by finer cuts."""
    fee_before, share_before = split_fee(cumulative_micros(rate_micros_per_hour, from_us), fee_bps)
    fee_after, share_after = split_fee(cumulative_micros(rate_micros_per_hour, to_us), fee_bps)
    return fee_after - fee_before, share_after - share_before


def chargeable_until(
    *, opened_at: datetime, proven_until: datetime, funded_until: datetime, capped_at: datetime | None = None
) -> datetime:
    """The end of what may be charged: proven, paid for by the hold, and not after the stop's cap."""
    end = min(proven_until, funded_until)
    return max(opened_at, end if capped_at is None else min(end, capped_at))


def hold_for(rate_micros_per_hour: int, hours: int = HOLD_HOURS) -> int:
    """The money that must be set aside for whole hours; exact, since a rate is whole micro-units per hour."""
    return rate_micros_per_hour * hours


def funded_span(held_micros: int, rate_micros_per_hour: int) -> timedelta:
    """How long `held_micros` lasts, rounded down, so that the charge of that span never exceeds the hold."""
    if rate_micros_per_hour == 0:
        return FUNDED_AT_MOST
    microseconds = held_micros * MICROSECONDS_PER_HOUR // rate_micros_per_hour
    return min(FUNDED_AT_MOST, timedelta(microseconds=1) * min(microseconds, FUNDED_AT_MOST // _MICROSECOND))
