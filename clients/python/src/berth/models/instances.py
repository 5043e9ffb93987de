# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from berth.models.shared import LaunchOut, MessageOut, TemplateRef


class AccessOut(Struct, frozen=True, kw_only=True):
    """All access to the instance: addresses, ports, keys, password, allowed networks.

    Attributes:
        jupyter_url: Holds its token; null without the scope instances:connect
        tensorboard_url: null without the scope instances:connect
        jupyter_token: null without the scope instances:connect
        ports_pending: The ports change at the next start or restart
        ssh_keys: Public keys that let in now
        all_keys: Every key of the account lets in, those added later too
        password_set_at: null: SSH takes no password
        allow_from: Networks from which SSH answers; empty: from everywhere
        allow_from_kept: Whether its host keeps such a list: false, one is refused; null, its agent does not say
    """

    ssh: SshAccess | None
    jupyter_url: str | None
    tensorboard_url: str | None
    jupyter_token: str | None
    ports: list[PortPair]
    ports_pending: bool
    ssh_keys: list[str]
    all_keys: bool
    password_set_at: datetime | None
    allow_from: list[str]
    allow_from_kept: bool | None


class AlertRules(Struct, frozen=True, kw_only=True):
    """The kinds of alerts that are muted for an instance."""

    muted: list[str]


Archive = Literal["account", "on", "off"] | str


class ArchiveOut(Struct, frozen=True, kw_only=True):
    """Whether and where the data disk is archived.

    Attributes:
        connection: Where it goes: its own, or the account's
        folder: In the connection's own folder
        archived_at: Since it stopped last
        begins_at: When its free time is over
        deleted_at_latest: Archived or not
    """

    archive: str
    connection: str | None
    connection_name: str | None
    folder: str | None
    archived_at: datetime | None
    begins_at: datetime | None
    deleted_at_latest: datetime | None


class ChargeOut(Struct, frozen=True, kw_only=True):
    """One charge.

    Attributes:
        source_kind: instance (its GPUs), disk, hold (GPUs kept while stopped) or term
        hourly_rate: null where it is priced by the day, or paid at once
        per: hour or day
    """

    at: datetime
    what: str
    source_kind: str
    period_from: datetime | None
    period_to: datetime | None
    seconds: float | None
    hourly_rate: str | None
    rate: str | None
    per: str | None
    amount: str


class CommandFailure(Struct, frozen=True, kw_only=True):
    """Why there is no exit code or no output."""

    code: str
    detail: str


class CommandOut(Struct, frozen=True, kw_only=True):
    """A command and, once it has ended, its result.

    Attributes:
        state: failed: it was not run; unknown: it may have run, and is not run again; see `failure`
        exit_code: Of a command that a signal ended, 128 and the signal's number
        stdout: At most the first 256 KiB; null before the end and when erased
        stdout_encoding: base64 when it isn't UTF-8
        stderr: At most the first 256 KiB; null before the end and when erased
        stderr_encoding: base64 when it isn't UTF-8
        duration_seconds: By the host
        expires_at: When the result is deleted
    """

    id: str
    instance_id: str
    state: str
    exit_code: int | None
    timed_out: bool
    stdout: str | None
    stdout_encoding: str
    stdout_truncated: bool
    stderr: str | None
    stderr_encoding: str
    stderr_truncated: bool
    duration_seconds: float | None
    failure: CommandFailure | None
    timeout_seconds: int
    created_at: datetime
    ended_at: datetime | None
    expires_at: datetime | None


CommandOutState = Literal["pending", "exited", "timed_out", "failed", "unknown", "cancelled"] | str


class EventOut(Struct, frozen=True, kw_only=True):
    """An event of an instance."""

    kind: str
    from_state: str | None
    to_state: str | None
    detail: str
    message: MessageOut | None
    actor: str
    at: datetime


FaultOf = Literal["renter", "host", "platform", "nobody"] | str


class GpuNow(Struct, frozen=True, kw_only=True):
    """One GPU by the last report."""

    uuid: str
    util_pct: int
    vram_used_mb: int
    temperature_c: int
    power_w: int


class IdleStop(Struct, frozen=True, kw_only=True):
    """Idle rule: stop when GPU usage stays below this without an open SSH or terminal session."""

    below_pct: int
    minutes: int


class InstanceAccess(Struct, frozen=True, kw_only=True):
    """Addresses of the instance.

    They are fixed from the order on and answer while it runs.

    Attributes:
        jupyter_url: Holds its token; null without the scope instances:connect
        tensorboard_url: null without the scope instances:connect
    """

    ssh: SshAccess | None
    jupyter_url: str | None
    tensorboard_url: str | None


class InstanceBilling(Struct, frozen=True, kw_only=True):
    """What the instance costs, and how it is billed.

    Attributes:
        hourly_rate: Of its GPUs, at present; of a run without GPUs what that costs
        cpu_hourly_rate: What a start without its GPUs costs an hour: `start` with mode=cpu
        disk_daily: Of the data disk above the free quota, running or stopped
        max_price: Of a spot rent: per GPU and hour
        keeps_gpus: Stopped, with its GPUs kept
        hold_fee: What keeping its GPUs while it is stopped costs an hour
        cost_so_far: A term that was paid upfront counts whole while it runs
    """

    mode: str
    hourly_rate: str
    cpu_hourly_rate: str
    disk_daily: str
    max_price: str | None
    spot: InstanceSpot | None
    term: InstanceTerm | None
    next_term: InstanceTerm | None
    next_step: InstanceNextStep | None
    keeps_gpus: bool
    hold_fee: str | None
    cost_so_far: str
    next_charge_at: datetime | None


class InstanceFailure(Struct, frozen=True, kw_only=True):
    """Why the instance failed."""

    code: str
    detail: str
    message: MessageOut | None
    fault_of: str


class InstanceGpu(Struct, frozen=True, kw_only=True):
    """A GPU that is leased to the instance now."""

    uuid: str
    model: str


class InstanceGpuModel(Struct, frozen=True, kw_only=True):
    """Model and number of the instance's GPUs."""

    model: str
    slug: str
    count: int


class InstanceHost(Struct, frozen=True, kw_only=True):
    """Where the instance runs."""

    id: str
    name: str
    region: str
    verified: bool
    runtime: str
    simulated: bool


class InstanceNextStep(Struct, frozen=True, kw_only=True):
    """When a tiered rent gets cheaper.

    Attributes:
        from_hours: Of continuous use; a stop of more than 24 hours begins again at 0
        at: If it runs on until then; null while it is stopped
    """

    from_hours: int
    hourly_rate: str
    used_hours: float
    in_hours: float
    at: datetime | None


class InstanceOut(Struct, frozen=True, kw_only=True):
    """An instance.

    Attributes:
        actions: What can be asked for now
        system_disk_gb: Hard limit of the root beside the image; null: its host has none
        reachable: false while its host does not report
        health: ok, unreachable, overdue, failed or gone
        without_gpu: true: the present run is one without GPUs
        release_at: Until then the data of a stopped instance is kept
        launch_template: What it was rented with
    """

    id: str
    name: str
    state: str
    desired: str
    actions: list[str]
    progress: str
    progress_message: MessageOut | None
    host: InstanceHost
    offer: str
    gpu: InstanceGpuModel
    gpus: list[InstanceGpu]
    cpu_cores: float
    ram_gb: float
    image: str
    data_disk_gb: int
    system_disk_gb: int | None
    billing: InstanceBilling
    access: InstanceAccess
    reachable: bool
    health: str
    failure: InstanceFailure | None
    without_gpu: bool
    reimage: InstanceReimage | None
    setback: InstanceSetback | None
    release_at: datetime | None
    retention: Retention | None
    locked: bool
    schedule: Schedule
    idle_stop: IdleStop | None
    launch: LaunchOut | None
    launch_template: TemplateRef | None
    launch_status: LaunchStatusOut | None
    line: PlaceInLine | None
    created_at: datetime
    started_at: datetime | None
    stopped_at: datetime | None
    released_at: datetime | None


class InstanceReimage(Struct, frozen=True, kw_only=True):
    """A fresh root that was requested and has not run yet.

    Attributes:
        former_image: Where a failure, or taking it back, leads
        begun: false: DELETE …/reimage takes it back
    """

    image: str
    former_image: str
    begun: bool


class InstanceSetback(Struct, frozen=True, kw_only=True):
    """Why the last request could not be carried out; the instance goes on as before."""

    code: str
    detail: str
    message: MessageOut | None


class InstanceSpot(Struct, frozen=True, kw_only=True):
    """The bid of a spot rent; prices per GPU and hour.

    Attributes:
        price: What it pays now; null while it waits
        yields_at: Its GPUs go to others then; at least 120 s after the notice
    """

    max_price: str
    price: str | None
    state: str
    notice_at: datetime | None
    yields_at: datetime | None


InstanceSpotState = Literal["waiting", "holding", "notice", "yielding", "ended"] | str


class InstanceTerm(Struct, frozen=True, kw_only=True):
    """A reserved term.

    Attributes:
        total: Of the whole term, used or not
        starts_at: null: it begins with the first run, or when the present term ends
    """

    term: str
    payment: str
    hourly_rate: str
    total: str
    starts_at: datetime | None
    ends_at: datetime | None
    auto_renew: bool


class LaunchStatusOut(Struct, frozen=True, kw_only=True):
    """What the host reported of the present run.

    Attributes:
        on_start: null: there is no start script, or not yet
        exit_code: Of the start script
        ready: null: there is no check, or not yet
        ready_at: When it was first ready
    """

    on_start: str | None
    exit_code: int | None
    ready: str | None
    ready_at: datetime | None


class LayerOut(Struct, frozen=True, kw_only=True):
    """Progress of one layer."""

    id: str
    done_bytes: int
    total_bytes: int
    step: str


class LogLine(Struct, frozen=True, kw_only=True):
    """One line of the log.

    Attributes:
        at: By the host's clock
    """

    at: str
    text: str


class LogsOut(Struct, frozen=True, kw_only=True):
    """The log as far as known.

    While `reading` is true the host is being asked, so repeat the request.

    Attributes:
        cut: There are more lines that match
        reading: The host is being asked: look again in a second
        failure: Why the last reading brought nothing
        failure_code: `output_unreadable`, `no_answer` or another code of the same reason
    """

    lines: list[LogLine]
    cut: bool
    reading: bool
    read_at: datetime | None
    failure: str | None
    failure_code: str | None


class MetricsOut(Struct, frozen=True, kw_only=True):
    """Usage over time, oldest first.

    Steps without a report are left out.

    Attributes:
        step: Seconds
        made_of: What the points are made of: second, sample, minute, hour, day
        gpus: Empty when the last report is older than two minutes
    """

    step: int
    made_of: str
    points: list[MetricsPoint]
    gpus: list[GpuNow]


class MetricsPoint(Struct, frozen=True, kw_only=True):
    """Mean usage over one step of time; `_max` is the highest reading in it.

    Attributes:
        cpu_pct: Percent of one core
        rx_bytes: null where steps are seconds: not measured so often
        gpu_util_pct: Mean of the instance's GPUs
        vram_used_mb: Sum of the instance's GPUs
        power_w: Sum of the instance's GPUs
        temperature_c: Of the hottest GPU
    """

    at: datetime
    cpu_pct: float
    ram_mb: float
    disk_mb: int
    rx_bytes: int | None
    tx_bytes: int | None
    gpu_util_pct: float
    vram_used_mb: float
    gpu_util_max_pct: float
    power_w: float
    temperature_c: float
    ram_max_mb: float
    vram_max_mb: float


Mode = Literal["gpu", "cpu"] | str


class MoveFailure(Struct, frozen=True, kw_only=True):
    """Why it failed."""

    code: str
    detail: str
    message: MessageOut | None


class MoveOut(Struct, frozen=True, kw_only=True):
    """A clone or migration, and the progress of its copying.

    Attributes:
        source: inst_…
        target: inst_…; of a move the same instance
        from_host: Its name
        to_host: Its name
        total_bytes: 0: not known yet
        progress: The hosts' last sentence
        checksum: SHA-256 over all chunks, compared on both hosts
        cuts: How often the way between the hosts broke
        switched_at: When the target was told to run
    """

    id: str
    kind: str
    state: str
    source: str
    target: str
    from_host: str
    to_host: str
    data_disk: bool
    done_bytes: int
    total_bytes: int
    progress: str
    progress_message: MessageOut | None
    checksum: str | None
    cuts: int | None
    failure: MoveFailure | None
    created_at: datetime
    switched_at: datetime | None
    ended_at: datetime | None


MoveOutKind = Literal["clone", "migrate"] | str

MoveOutState = Literal["copying", "starting", "clearing", "undoing", "done", "failed", "cancelled"] | str


class NextOccurrence(Struct, frozen=True, kw_only=True):
    """The next occurrence of the weekly schedule."""

    action: str
    at: datetime


OnStart = Literal["running", "ended", "lost"] | str

OutputEncoding = Literal["utf-8", "base64"] | str


class PaginatedEventOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[EventOut]


class PaginatedInstanceOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[InstanceOut]


class PaginatedMoveOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[MoveOut]


class PasswordOut(Struct, frozen=True, kw_only=True):
    """Root's new password.

    Attributes:
        password: Told this once; null when the request is repeated
    """

    password: str | None
    set_at: datetime


class PlaceInLine(Struct, frozen=True, kw_only=True):
    """Position in the queue for its GPUs; 1 is next.

    GPUs that fit the queue are not rented to anybody outside of it.

    Attributes:
        until: Then it is stopped and its money is free again
    """

    position: int
    of: int
    since: datetime
    until: datetime


class PortPair(Struct, frozen=True, kw_only=True):
    """A port of the container, and the host port that it is published on.

    Attributes:
        extra: Opened by the renter, beside the image's own
        udp: Published for UDP as well as TCP
    """

    container: int
    host: int
    extra: bool
    udp: bool


class PullOut(Struct, frozen=True, kw_only=True):
    """Progress of the pull of an instance's image.

    Without layers, no pull is running.

    Attributes:
        total_bytes: Of the layers whose size is known by now
    """

    done_bytes: int
    total_bytes: int
    layers: list[LayerOut]
    at: datetime | None


Ready = Literal["ready", "starting", "not_ready"] | str


class Retention(Struct, frozen=True, kw_only=True):
    """How long the data of a stopped instance is kept.

    Attributes:
        until: Then it is released for good
        gb: What a longer time is charged for: the root and the free part of the data disk
        daily_fee: Of each day after the free time
    """

    until: datetime
    free_until: datetime
    gb: int
    daily_fee: str


class Schedule(Struct, frozen=True, kw_only=True):
    """Timers and the weekly schedule."""

    stop_at: datetime | None
    release_at: datetime | None
    weekly: list[WeeklyEntry]
    time_zone: str | None
    next: NextOccurrence | None


ScheduleAction = Literal["start", "stop"] | str


class SchedulePatch(Struct, frozen=True, kw_only=True):
    """Timers and the weekly schedule; what you leave out stays as it is.

    Attributes:
        stop_at: Stop it then, once; null: never mind
        release_at: Release it and its data then; null: never mind
        weekly: The whole week, at most 28 entries; empty: no schedule
        time_zone: IANA name; required with `weekly`
    """

    stop_at: datetime | UnsetType | None = UNSET
    release_at: datetime | UnsetType | None = UNSET
    weekly: list[WeeklyEntry] | UnsetType = UNSET
    time_zone: str | UnsetType = UNSET


class SizeOut(Struct, frozen=True, kw_only=True):
    """What a size costs at the offer's present prices, beside what is paid now.

    Attributes:
        hourly_rate: Of all its GPUs, while it runs
        disk_daily: Of its data disk above the free quota; from the growth on
    """

    gpu_count: int
    data_disk_gb: int
    hourly_rate: str
    disk_daily: str
    hourly_rate_now: str
    disk_daily_now: str


class SshAccess(Struct, frozen=True, kw_only=True):
    """Address and command for SSH."""

    host: str
    port: int
    user: str
    command: str


Step = Literal["waiting", "downloading", "downloaded", "unpacking", "ready"] | str

StreamInKind = Literal["terminal", "port", "files", "download", "upload"] | str


class StreamOut(Struct, frozen=True, kw_only=True):
    """A WebSocket to open once before `expires_at`, or the address of a download (GET) or an upload (PUT).

    Binary frames of the WebSocket are bytes, text frames are JSON messages (docs/streams.md, for files
    docs/files.md). A download can be requested repeatedly until then, also from a byte on (`Range`), and an upload
    sent again (docs/exec-and-copy.md).
    """

    url: str
    expires_at: datetime


class UsageOut(Struct, frozen=True, kw_only=True):
    """What the instance has cost.

    Attributes:
        hourly_rate: Of its GPUs, at present; of a run without GPUs what that costs
        cpu_hourly_rate: What a start without its GPUs costs an hour: `start` with mode=cpu
        disk_daily: Of the data disk above the free quota, running or stopped
        max_price: Of a spot rent: per GPU and hour
        keeps_gpus: Stopped, with its GPUs kept
        hold_fee: What keeping its GPUs while it is stopped costs an hour
        cost_so_far: A term that was paid upfront counts whole while it runs
    """

    mode: str
    hourly_rate: str
    cpu_hourly_rate: str
    disk_daily: str
    max_price: str | None
    spot: InstanceSpot | None
    term: InstanceTerm | None
    next_term: InstanceTerm | None
    next_step: InstanceNextStep | None
    keeps_gpus: bool
    hold_fee: str | None
    cost_so_far: str
    next_charge_at: datetime | None
    settled: str
    accrued: str
    given_back: str
    seconds: int
    lines: list[ChargeOut]


class WebLinkOut(Struct, frozen=True, kw_only=True):
    """A link that anybody who has it can open.

    The session that it opens outlives it.
    """

    url: str
    expires_at: datetime
    visit_ends_at: datetime


class WeeklyEntry(Struct, frozen=True, kw_only=True):
    """A start or stop on these days at this time.

    Attributes:
        time: HH:MM in the schedule's time zone
    """

    action: str
    days: list[str]
    time: str
