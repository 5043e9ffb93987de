# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field

from berth.models.shared import MessageOut

AskedBy = Literal["owner", "market"] | str


class EarningOut(Struct, frozen=True, kw_only=True):
    """One row.

    Fields outside the grouping are null; `gpu` and `instance` are also null for charges other than GPUs.

    Attributes:
        key: The day, the first day of the month, or the id of what earned it
        gross: Charged to renters
        given_back: Refunded to renters because of host failures
        fee: Platform fee on the remaining amount
        net: The host owner's share
    """

    key: str
    day: str | None
    gpu: str | None
    gpu_model: str | None
    instance: str | None
    offer: str | None
    host: str | None
    host_name: str | None
    gross: str
    given_back: str
    fee: str
    net: str
    gpu_hours: float


class EarningsOut(Struct, frozen=True, kw_only=True):
    """Earnings of all your hosts, and how much of the balance can be paid out.

    Attributes:
        balance: All earnings minus payouts; negative after a refund that followed a payout
        accrued: Confirmed, booked at the next full hour
        maturing: Booked, pending
        payable: Can be paid out now
    """

    currency: str
    since: str
    until: str
    by: str
    total: SumOut
    results: list[EarningOut]
    balance: str
    accrued: str
    maturing: str
    payable: str


class Host(Struct, frozen=True, kw_only=True):
    """Your host with its GPUs and offers.

    Attributes:
        address: Empty behind NAT
        behind_nat: Reachable only through the relay
        listed_until: null: no end date
        agent_revoked_at: The agent is rejected until the host is added again
    """

    id: str
    name: str
    region: str
    state: str
    verified: bool
    verification: str
    verified_at: datetime | None
    draining: bool
    simulated: bool
    runtime: str
    runtime_version: str | None
    address: str
    behind_nat: bool
    hostname: str
    kernel: str | None
    cpu_model: str | None
    cpu_cores: int
    ram_gb: float
    disk: HostDisk
    network: HostNetwork
    nvlink: bool
    driver: str | None
    cuda: str | None
    ports: HostPorts
    warnings: list[str]
    agent_version: str | None
    engine_age_s: float
    reliability: float | None
    listed_until: datetime | None
    enrolled_at: datetime
    agent_revoked_at: datetime | None
    last_seen_at: datetime
    gpus: list[OwnGpu]
    offers: list[OwnOffer]


class HostDetail(Struct, frozen=True, kw_only=True):
    """Your host with its last events.

    Attributes:
        address: Empty behind NAT
        behind_nat: Reachable only through the relay
        listed_until: null: no end date
        agent_revoked_at: The agent is rejected until the host is added again
    """

    id: str
    name: str
    region: str
    state: str
    verified: bool
    verification: str
    verified_at: datetime | None
    draining: bool
    simulated: bool
    runtime: str
    runtime_version: str | None
    address: str
    behind_nat: bool
    hostname: str
    kernel: str | None
    cpu_model: str | None
    cpu_cores: int
    ram_gb: float
    disk: HostDisk
    network: HostNetwork
    nvlink: bool
    driver: str | None
    cuda: str | None
    ports: HostPorts
    warnings: list[str]
    agent_version: str | None
    engine_age_s: float
    reliability: float | None
    listed_until: datetime | None
    enrolled_at: datetime
    agent_revoked_at: datetime | None
    last_seen_at: datetime
    gpus: list[OwnGpu]
    offers: list[OwnOffer]
    events: list[HostEvent]


class HostDisk(Struct, frozen=True, kw_only=True):
    """Disk of your host.

    Attributes:
        root_limit: disk: hard limit per system disk; none: only monitored; null: an older agent
        read_mbps: MB/s, median of `samples`; null: not measured
    """

    kind: str
    total_gb: int
    free_gb: int
    root_limit: str | None
    read_mbps: int | None
    write_mbps: int | None
    measured_at: datetime | None
    samples: int


class HostEarningsOut(Struct, frozen=True, kw_only=True):
    """Earnings of a host, by the time at which they were posted."""

    currency: str
    since: str
    until: str
    by: str
    total: SumOut
    results: list[EarningOut]


class HostEvent(Struct, frozen=True, kw_only=True):
    """Event of your host."""

    at: datetime
    kind: str
    detail: str
    message: MessageOut | None
    actor: str


class HostNetwork(Struct, frozen=True, kw_only=True):
    """Network of your host, measured against the control plane.

    Attributes:
        up_mbps: Mbit/s, median of `samples`; null: not measured
    """

    up_mbps: int | None
    down_mbps: int | None
    measured_at: datetime | None
    samples: int


class HostPage(Struct, frozen=True, kw_only=True):
    """A page of your hosts."""

    next: str | None
    previous: str | None
    results: list[Host]


class HostPorts(Struct, frozen=True, kw_only=True):
    """Host ports that instances can publish."""

    first: int
    last: int


class LedgerHost(Struct, frozen=True, kw_only=True):
    """Host of the ledger."""

    id: str
    name: str
    region: str


class ListingChange(Struct, frozen=True, kw_only=True):
    """New prices or listing of one offer; omitted fields stay unchanged.

    Attributes:
        id: Of the offer
        reserved_discounts: Omitted terms are unchanged
        tiers: Replaces all steps; in ascending order
        spot_floor: null: no spot market
        disk_gb_day: Per GB-day above the free allowance
        hold_share: Share of the hourly price, "0" to "1"
    """

    id: str
    price_hourly: str | UnsetType = UNSET
    listed: bool | UnsetType = UNSET
    reserved_discounts: ReservedDiscounts | UnsetType = UNSET
    tiers: list[TierDiscount] | UnsetType = UNSET
    spot_floor: str | UnsetType | None = UNSET
    disk_gb_day: str | UnsetType = UNSET
    hold_share: str | UnsetType = UNSET


MaintenanceCategory = Literal["power", "internet", "disk", "gpu", "software", "other"] | str


class MaintenancePage(Struct, frozen=True, kw_only=True):
    """A page of a host's maintenance windows, latest first."""

    next: str | None
    previous: str | None
    results: list[MaintenanceWindow]


class MaintenanceReply(Struct, frozen=True, kw_only=True):
    id: str
    category: str | UnsetType = UNSET
    detail: str | UnsetType | None = UNSET
    announced_at: datetime | UnsetType = UNSET
    starts_at: datetime | UnsetType = UNSET
    ends_at: datetime | UnsetType = UNSET
    cancelled_at: datetime | UnsetType | None = UNSET
    excuses: bool | UnsetType = UNSET
    name: str | UnsetType = UNSET
    region: str | UnsetType = UNSET
    state: str | UnsetType = UNSET
    verified: bool | UnsetType = UNSET
    verification: str | UnsetType = UNSET
    verified_at: datetime | UnsetType | None = UNSET
    draining: bool | UnsetType = UNSET
    simulated: bool | UnsetType = UNSET
    runtime: str | UnsetType = UNSET
    runtime_version: str | UnsetType | None = UNSET
    address: str | UnsetType = UNSET
    behind_nat: bool | UnsetType = UNSET
    hostname: str | UnsetType = UNSET
    kernel: str | UnsetType | None = UNSET
    cpu_model: str | UnsetType | None = UNSET
    cpu_cores: int | UnsetType = UNSET
    ram_gb: float | UnsetType = UNSET
    disk: HostDisk | UnsetType = UNSET
    network: HostNetwork | UnsetType = UNSET
    nvlink: bool | UnsetType = UNSET
    driver: str | UnsetType | None = UNSET
    cuda: str | UnsetType | None = UNSET
    ports: HostPorts | UnsetType = UNSET
    warnings: list[str] | UnsetType = UNSET
    agent_version: str | UnsetType | None = UNSET
    engine_age_s: float | UnsetType = UNSET
    reliability: float | UnsetType | None = UNSET
    listed_until: datetime | UnsetType | None = UNSET
    enrolled_at: datetime | UnsetType = UNSET
    agent_revoked_at: datetime | UnsetType | None = UNSET
    last_seen_at: datetime | UnsetType = UNSET
    gpus: list[OwnGpu] | UnsetType = UNSET
    offers: list[OwnOffer] | UnsetType = UNSET


class MaintenanceWindow(Struct, frozen=True, kw_only=True):
    """Maintenance announced by the host owner.

    Attributes:
        excuses: Announced in time and not cancelled before its start
    """

    id: str
    category: str
    detail: str | None
    announced_at: datetime
    starts_at: datetime
    ends_at: datetime
    cancelled_at: datetime | None
    excuses: bool


class OwnDiscounts(Struct, frozen=True, kw_only=True):
    """Discount of each term on the hourly price, such as "0.2"; null means not offered."""

    day: str | None
    week: str | None
    month: str | None
    year: str | None
    year3: str | None


class OwnGpu(Struct, frozen=True, kw_only=True):
    """One GPU of your host."""

    uuid: str
    model: str
    slug: str
    name: str
    vram_gb: int
    index: int
    present: bool
    healthy: bool
    leased: bool
    simulated: bool
    detail: str | None


class OwnOffer(Struct, frozen=True, kw_only=True):
    """One offer of your host.

    Attributes:
        price_hourly: Per GPU and hour
        disk_gb_day: Per GB-day above the free allowance
        hold_share: Share of the on-demand price, for GPUs kept by a stopped instance
    """

    id: str
    gpu_model: str
    listed: bool
    price_hourly: str
    reserved_discounts: OwnDiscounts
    tiers: list[OwnTier]
    spot_floor: str | None
    disk_gb_day: str
    hold_share: str
    version: int
    gpu_free: int
    gpu_total: int


class OwnTier(Struct, frozen=True, kw_only=True):
    """Discount that applies after this many hours of continuous use."""

    from_hours: int
    discount: str


class Reliability(Struct, frozen=True, kw_only=True):
    """The score, and everything it is computed from.

    Attributes:
        score: 0 to 1; null without enough data
        score_ppm: The same in millionths, exact
        starts: Instances that started running
    """

    host: LedgerHost
    score: float | None
    score_ppm: int | None
    formula_version: int
    window: ReliabilityWindow
    enrolled_at: datetime
    inputs: ReliabilityInputs
    events: list[ReliabilityEntry]
    starts: list[datetime]
    maintenance: list[MaintenanceWindow]


class ReliabilityEntry(Struct, frozen=True, kw_only=True):
    """Event of the host; an outage in progress has no end, and other kinds have no duration.

    Attributes:
        detail: A failure's code, or why it doesn't count
        excluded_seconds: The part of it within announced maintenance
        counts: Whether any of it counts against the host
    """

    id: str
    kind: str
    starts_at: datetime
    ends_at: datetime | None
    detail: str | None
    excluded_seconds: float
    counts: bool


ReliabilityEntryKind = Literal["outage", "failed_start", "host_fault"] | str


class ReliabilityInputs(Struct, frozen=True, kw_only=True):
    """Totals of the events below.

    Attributes:
        observed_seconds: The window minus announced maintenance
        excluded_seconds: Maintenance within the window
        outage_seconds: Without reports, outside announced maintenance
    """

    observed_seconds: float
    excluded_seconds: float
    outage_seconds: float
    starts: int
    failed_starts: int
    host_faults: int


class ReliabilityWindow(Struct, frozen=True, kw_only=True):
    """The half-open period that counts; `from` is 30 days before `until`, or when the host was added."""

    from_: datetime = field(name="from")
    until: datetime


class ReservedDiscounts(Struct, frozen=True, kw_only=True):
    """Discount of each term on the hourly price, such as "0.2"; null means not offered."""

    day: str | UnsetType | None = UNSET
    week: str | UnsetType | None = UNSET
    month: str | UnsetType | None = UNSET
    year: str | UnsetType | None = UNSET
    year3: str | UnsetType | None = UNSET


class SelfTestCheck(Struct, frozen=True, kw_only=True):
    """One check: result, requirement, and remedy.

    Attributes:
        gpu: UUID, for a check of one GPU
        passed: null: it couldn't be tested; `reason` says why
        actual: The result, as reported by the host
        required: The requirement; quoted if it comes from the host
        remedy: Empty if no action is needed; quoted if it comes from the host
        needed: Required for verification
        simulated: Simulated, not measured
        as_of: From this earlier self-test, since the GPU is in use now
    """

    id: str
    gpu: str | None
    passed: bool | None
    value: float | None
    unit: str
    actual: str
    required: str
    remedy: str
    needed: bool
    reason: str
    simulated: bool
    as_of: datetime | None


class SelfTestShape(Struct, frozen=True, kw_only=True):
    """One run of the agent's checks."""

    id: str
    asked_at: datetime
    asked_by: str
    verdict: str
    finished_at: datetime | None
    seconds: float
    simulated: bool
    agent_version: str | None
    checks: list[SelfTestCheck]


class SelfTests(Struct, frozen=True, kw_only=True):
    """The last self-tests of a host, newest first."""

    results: list[SelfTestShape]


class SumOut(Struct, frozen=True, kw_only=True):
    """Totals, where net = gross − given_back − fee, exact to the micro-unit.

    Attributes:
        gross: Charged to renters
        given_back: Refunded to renters because of host failures
        fee: Platform fee on the remaining amount
        net: The host owner's share
    """

    gross: str
    given_back: str
    fee: str
    net: str
    gpu_hours: float


class TierDiscount(Struct, frozen=True, kw_only=True):
    """Discount that applies after this many hours of continuous use."""

    from_hours: int
    discount: str


Verdict = Literal["pending", "passed", "failed", "expired"] | str

Verification = Literal["unverified", "verified", "lapsed", "refused"] | str
