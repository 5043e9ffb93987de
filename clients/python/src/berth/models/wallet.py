# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from berth.models.shared import SealOut, SignedOut


class EntriesOut(Struct, frozen=True, kw_only=True):
    """A page of the statement.

    Attributes:
        previous: Always null: pages start with the newest entry
    """

    next: str | None
    previous: str | None
    results: list[EntryOut]


class EntryOut(Struct, frozen=True, kw_only=True):
    """One line of the statement: what, when, how long, at which rate, and the posted balance after it.

    Attributes:
        hourly_rate: If the rate is hourly
        rate: For each `unit`
        unit: `hour`, `day`, or empty without a rate
        mode: The billing mode, for usage
        amount: Negative: a charge
    """

    id: str
    at: datetime
    kind: str
    what: str
    source_kind: str
    source_id: str
    period_from: datetime | None
    period_to: datetime | None
    seconds: float | None
    hourly_rate: str | None
    rate: str | None
    unit: str
    mode: str
    amount: str
    balance_after: str


class GapOut(Struct, frozen=True, kw_only=True):
    """Time next to the line that is not charged.

    Attributes:
        end: null: nothing came after it
        why: `stopped`: a stop's grace was over; `money`: no money was held for more; `silent`: no report proved it
    """

    begin: datetime
    end: datetime | None
    seconds: float | None
    why: str


class LineOut(Struct, frozen=True, kw_only=True):
    """One statement line with everything that its amount follows from.

    Attributes:
        posting_key: Unique for good: nothing is booked twice
        reports: null where no reports are needed
        signed: The same for renter and host
        seal: null until the next seal, within the hour
    """

    id: str
    side: str
    kind: str
    what: str
    amount: str
    booked_at: datetime
    posting: int
    posting_key: str
    period_from: datetime | None
    period_to: datetime | None
    instance: str | None
    use: UseOut | None
    reports: ReportsOut | None
    signed: SignedOut | None
    seal: SealOut | None


class ReadingOut(Struct, frozen=True, kw_only=True):
    """Usage that the host's agent measured with one report."""

    at: datetime
    gpu_util_pct: float
    vram_used_mb: int
    cpu_pct: float
    ram_mb: int


class ReportsOut(Struct, frozen=True, kw_only=True):
    """Stored reports of the period.

    Two that are at most 120 s apart prove the time between them.

    Attributes:
        readings: The first 200
    """

    count: int
    first: datetime | None
    last: datetime | None
    longest_wait_s: float | None
    readings: list[ReadingOut]


Side = Literal["renter", "host"] | str


class SpendOut(Struct, frozen=True, kw_only=True):
    """Spending within some days."""

    since: str
    until: str
    by: str
    total: str
    rows: list[SpendRow]


class SpendRow(Struct, frozen=True, kw_only=True):
    """Amount spent on one day, in one mode or on one source.

    Attributes:
        key: The day, the mode, or the source, such as `instance:…`
        what: In words, for a source
    """

    key: str
    what: str
    amount: str
    hours: float


class StandingOut(Struct, frozen=True, kw_only=True):
    """Standing of the wallet, evaluated every minute.

    Attributes:
        since: null if always in good standing
        next_state_at: low: when funds run out at the current rate; exhausted: when the first data is deleted;
            otherwise null
    """

    state: str
    since: datetime | None
    next_state_at: datetime | None


StandingOutState = Literal["good", "low", "exhausted"] | str


class StepOut(Struct, frozen=True, kw_only=True):
    """A rate, and the continuous use from which on it holds.

    Attributes:
        here: The line is within this step
    """

    from_seconds: float
    rate: str
    here: bool


class UseOut(Struct, frozen=True, kw_only=True):
    """The period, its meter, and the computation of the amount.

    amount = cost_after − cost_before, where cost is the price of all continuous use up to then, rounded half up
    once.
    Within one rate that is seconds × rate ÷ unit_seconds, up to the rounding of its two ends.

    Attributes:
        given_back: The line gives back what this period had been charged
        by_the_clock: Charged without reports: terms, disks, kept GPUs
        funded_until: Up to here its hold pays
        capped_at: A stop's request and grace
        held_from: Since when money is held for it
        used_before_s: Continuous use when the period began, seconds
        unit_seconds: The rate is for so many seconds
        unrounded_micros: seconds × rate ÷ unit_seconds, in millionths
        fee_bps: The platform's part, hundredths of a percent
    """

    given_back: bool
    meter: str
    mode: str
    gpu_model: str
    by_the_clock: bool
    opened_at: datetime
    proven_until: datetime
    funded_until: datetime
    capped_at: datetime | None
    closed_at: datetime | None
    held_from: datetime | None
    held_until: datetime | None
    seconds: str
    used_before_s: str
    used_after_s: str
    rate: str
    unit_seconds: int
    steps: list[StepOut]
    unrounded_micros: str
    cost_before_micros: int
    cost_after_micros: int
    charge: str
    fee_bps: int
    fee: str
    host_share: str
    gap_before: GapOut | None
    gap_after: GapOut | None


class WalletOut(Struct, frozen=True, kw_only=True):
    """The wallet now; accrued use is paid out of the held money.

    Attributes:
        balance: The sum of all entries
        accrued: Used and confirmed, posted with the next hour
        live_balance: The balance minus accrued usage
        held: On hold for running instances; covers accrued usage
        spendable: Available for a new rental
        hourly_rate: Of everything that runs now
        runway_hours: null when nothing runs
    """

    currency: str
    balance: str
    accrued: str
    live_balance: str
    held: str
    spendable: str
    hourly_rate: str
    runway_hours: float | None
    standing: StandingOut


Why = Literal["stopped", "money", "silent"] | str
