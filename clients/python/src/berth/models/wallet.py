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
    """One entry of the statement: what, when, how long, at which rate, and the balance after it.

    Attributes:
        hourly_rate: Set if the rate is hourly
        rate: Per `unit`
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
    """Adjacent time that is not charged.

    Attributes:
        end: null: nothing follows
        why: `stopped`: a stop's grace period was over; `money`: no funds were held; `silent`: no report confirmed
            it
    """

    begin: datetime
    end: datetime | None
    seconds: float | None
    why: str


class LineOut(Struct, frozen=True, kw_only=True):
    """One statement entry with everything its amount is calculated from.

    Attributes:
        posting_key: Unique, so that nothing is booked twice
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
    """Usage measured by the host's agent in one report."""

    at: datetime
    gpu_util_pct: float
    vram_used_mb: int
    cpu_pct: float
    ram_mb: int


class ReportsOut(Struct, frozen=True, kw_only=True):
    """Stored reports of the period.

    Two reports at most 120 s apart confirm the time between them.

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
    """Spending in a period."""

    since: str
    until: str
    by: str
    total: str
    rows: list[SpendRow]


class SpendRow(Struct, frozen=True, kw_only=True):
    """Amount spent on one day, in one mode or on one source.

    Attributes:
        key: The day, the mode, or the source, such as `instance:…`
        what: Description, for a source
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
    """A rate, and the continuous use after which it applies.

    Attributes:
        here: This entry is within this step
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
        given_back: This entry refunds what was charged for the period
        by_the_clock: Billed by calendar time, without reports: terms, disks, kept GPUs
        funded_until: The hold covers usage up to this time
        capped_at: The stop request plus its grace period
        held_from: Since when funds are held for it
        used_before_s: Continuous use when the period began, seconds
        unit_seconds: The number of seconds that the rate covers
        unrounded_micros: seconds × rate ÷ unit_seconds, in millionths
        fee_bps: Platform fee, in hundredths of a percent
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
    """The wallet; accrued usage is paid from held funds.

    Attributes:
        balance: The sum of all entries
        accrued: Confirmed usage, posted at the next full hour
        live_balance: The balance minus accrued usage
        held: On hold for running instances; covers accrued usage
        spendable: Available for a new rental
        hourly_rate: For everything that is running now
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
