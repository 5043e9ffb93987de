"""Explanation of a statement line: its time, price and steps, and the formula with its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Final
from uuid import UUID

from billing.constants import HOUR_US
from billing.models import Meter, Seal, Usage
from billing.pricing.rates import cost, split_fee

_PLACES: Final = 6
STOPPED, MONEY, SILENT, BEGAN, GOES_ON = "stopped", "money", "silent", "began", "goes_on"


@dataclass(frozen=True)
class AdjacentMeter:
    """Adjacent meter of the same source: when it was open, and up to when it could charge."""

    id: UUID
    opened_at: datetime
    ends_at: datetime
    proven_until: datetime
    funded_until: datetime
    capped_at: datetime | None

    @property
    def why_it_ended(self) -> str:
        """Return why nothing after its end was charged."""
        if self.capped_at is not None and self.ends_at == self.capped_at:
            return STOPPED
        if self.ends_at == self.funded_until and self.funded_until < self.proven_until:
            return MONEY
        return SILENT


@dataclass(frozen=True)
class UnchargedPeriod:
    """Uncharged time next to the line, until `end` or from `begin` on, and its reason."""

    begin: datetime
    end: datetime | None
    why: str

    @property
    def seconds(self) -> float | None:
        return None if self.end is None else (self.end - self.begin).total_seconds()


@dataclass(frozen=True)
class Step:
    """Rate from this many microseconds of continuous use on; `here` when the line is within."""

    from_us: int
    rate_micros: int
    here: bool

    @property
    def from_hours(self) -> str:
        return exact(Fraction(self.from_us, HOUR_US))


@dataclass(frozen=True)
class ChargedPeriod:
    """Charged period of a line, with its meter."""

    usage: Usage
    meter: Meter
    own: AdjacentMeter
    before: AdjacentMeter | None
    after: AdjacentMeter | None
    held_from: datetime | None
    held_until: datetime | None

    @property
    def is_given_back(self) -> bool:
        """Return whether this is a reversed charge."""
        return self.usage.pk is None

    @property
    def used_from_us(self) -> int:
        return self.meter.used_us(self.usage.period_from)

    @property
    def used_to_us(self) -> int:
        return self.meter.used_us(self.usage.period_to)

    @property
    def seconds(self) -> str:
        return exact(Fraction(self.used_to_us - self.used_from_us, 1_000_000))

    @property
    def used_before_s(self) -> str:
        return exact(Fraction(self.used_from_us, 1_000_000))

    @property
    def used_after_s(self) -> str:
        return exact(Fraction(self.used_to_us, 1_000_000))

    @property
    def unit_seconds(self) -> int:
        """Return the seconds that the rate is for."""
        return self.meter.rate_hours * 3600

    @property
    def unrounded_micros(self) -> str:
        """Return seconds × rate ÷ unit, before any rounding."""
        return exact(
            Fraction((self.used_to_us - self.used_from_us) * self.usage.rate_micros, self.meter.rate_hours * HOUR_US)
        )

    @property
    def cost_before_micros(self) -> int:
        return cost(self.meter.tariff, self.used_from_us)

    @property
    def cost_after_micros(self) -> int:
        return cost(self.meter.tariff, self.used_to_us)

    @property
    def fee_before_micros(self) -> int:
        return split_fee(self.cost_before_micros, self.meter.fee_bps)[0]

    @property
    def fee_after_micros(self) -> int:
        return split_fee(self.cost_after_micros, self.meter.fee_bps)[0]

    @property
    def share_micros(self) -> int:
        return self.usage.charge_micros - self.usage.fee_micros

    @property
    def steps(self) -> Sequence[Step]:
        marks = [(0, self.meter.rate_micros), *self.meter.tariff.steps]
        ends = [*(begin for begin, _ in marks[1:]), None]
        return [
            Step(begin, rate, begin <= self.used_from_us and (end is None or self.used_to_us <= end))
            for (begin, rate), end in zip(marks, ends, strict=True)
        ]

    @property
    def gap_before(self) -> UnchargedPeriod | None:
        """Return the uncharged time right before the line, where it is the first of its meter."""
        if self.before is None or self.usage.period_from != self.own.opened_at or self.before.ends_at >= self.own.opened_at:
            return None
        return UnchargedPeriod(self.before.ends_at, self.own.opened_at, self.before.why_it_ended)

    @property
    def gap_after(self) -> UnchargedPeriod | None:
        """Return the uncharged time after the line, where it is the last of a closed meter."""
        if self.meter.closed_at is None or self.usage.period_to < self.own.ends_at:
            return None
        begins = None if self.after is None else self.after.opened_at
        return (
            None
            if begins is not None and begins <= self.own.ends_at
            else UnchargedPeriod(self.own.ends_at, begins, self.own.why_it_ended)
        )


@dataclass(frozen=True)
class Explanation:
    """One line of a renter's or host's statement; `use` is set where it is a charged period."""

    id: str
    is_host: bool
    kind: str
    what: str
    amount_micros: int
    posting_id: int
    posting_key: str
    actor: str
    booked_at: datetime
    source_kind: str
    source_id: UUID
    period_from: datetime | None
    period_to: datetime | None
    use: ChargedPeriod | None
    seal: Seal | None


def exact(value: Fraction) -> str:
    """Return a decimal with all its places, cut after `_PLACES` and then marked with "…"."""
    scaled = value * 10**_PLACES
    whole = scaled.numerator // scaled.denominator
    units, places = divmod(whole, 10**_PLACES)
    text = f"{units}.{places:0{_PLACES}d}".rstrip("0").rstrip(".")
    return text if scaled.denominator == 1 else f"{units}.{places:0{_PLACES}d}…"
