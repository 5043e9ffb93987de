# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from berth.models.shared import LaunchOut, MessageOut, TemplateRef


class AccessOut(Struct, frozen=True, kw_only=True):
    """Access to the instance: addresses, ports, keys, password, IP allowlist.

    Attributes:
        jupyter_url: Contains its token; null without the scope instances:connect
        tensorboard_url: null without the scope instances:connect
        jupyter_token: null without the scope instances:connect
        ports_pending: The ports change at the next start or restart
        ssh_keys: Public keys that can log in now
        all_keys: All keys of the account can log in, including those added later
        password_set_at: null: password login is disabled
        allow_from: IP allowlist of SSH; empty: any address
        allow_from_kept: Whether its host supports an IP allowlist; false: setting one fails; null: unknown (older
            agent)
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
    """Return the kinds of alerts that are muted for an instance."""

    muted: list[str]


Archive = Literal["account", "on", "off"] | str


class ArchiveOut(Struct, frozen=True, kw_only=True):
    """Whether and where the data disk is archived.

    Attributes:
        connection: The destination: the instance's own, or the account's default
        folder: Relative to the connection's folder
        archived_at: Since the last stop
        begins_at: When data retention ends
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
        hourly_rate: null if it is priced per day or paid upfront
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
    """Why there is no exit code or output."""

    code: str
    detail: str


class CommandOut(Struct, frozen=True, kw_only=True):
    """A command and, once it has ended, its result.

    Attributes:
        state: failed: it did not run; unknown: it may have run, and is not repeated; see `failure`
        exit_code: 128 plus the signal number if a signal ended it
        stdout: At most the first 256 KiB; null until it has ended and once erased
        stdout_encoding: base64 when it isn't UTF-8
        stderr: At most the first 256 KiB; null until it has ended and once erased
        stderr_encoding: base64 when it isn't UTF-8
        duration_seconds: As measured by the host
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
    """State of one GPU at the last report."""

    uuid: str
    util_pct: int
    vram_used_mb: int
    temperature_c: int
    power_w: int


class IdleStop(Struct, frozen=True, kw_only=True):
    """Idle stop: stop when GPU usage stays below this without an open SSH or terminal session."""

    below_pct: int
    minutes: int


class InstanceAccess(Struct, frozen=True, kw_only=True):
    """Addresses of the instance.

    They are fixed when it is ordered and reachable while it runs.

    Attributes:
        jupyter_url: Contains its token; null without the scope instances:connect
        tensorboard_url: null without the scope instances:connect
    """

    ssh: SshAccess | None
    jupyter_url: str | None
    tensorboard_url: str | None


class InstanceBilling(Struct, frozen=True, kw_only=True):
    """Billing of the instance.

    Attributes:
        hourly_rate: Current rate for its GPUs, or for running without GPUs
        cpu_hourly_rate: Hourly rate when started without GPUs (`start` with mode=cpu)
        disk_daily: For the data disk above the free allowance, running or stopped
        max_price: For spot instances: per GPU-hour
        keeps_gpus: Stopped, keeping its GPUs
        hold_fee: Hourly fee for keeping its GPUs while stopped
        cost_so_far: A term paid upfront counts in full
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
    """The next tier of a tiered instance.

    Attributes:
        from_hours: Of continuous use; a stop of more than 24 hours resets it to 0
        at: If it keeps running until then; null while stopped
    """

    from_hours: int
    hourly_rate: str
    used_hours: float
    in_hours: float
    at: datetime | None


class InstanceOut(Struct, frozen=True, kw_only=True):
    """An instance.

    Attributes:
        actions: Actions that are possible now
        system_disk_gb: Hard limit of the system disk, image not included; null: no limit on this host
        reachable: false while its host is not responding
        health: ok, unreachable, overdue, failed or gone
        without_gpu: true: it currently runs without GPUs
        release_at: When the data of a stopped instance is deleted
        launch_template: The template version it was rented with
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
    """A requested image change that has not taken effect yet.

    Attributes:
        former_image: The image to return to on failure or cancellation
        begun: false: can be cancelled with DELETE …/reimage
    """

    image: str
    former_image: str
    begun: bool


class InstanceSetback(Struct, frozen=True, kw_only=True):
    """Why the last request failed; the instance is unchanged."""

    code: str
    detail: str
    message: MessageOut | None


class InstanceSpot(Struct, frozen=True, kw_only=True):
    """The bid of a spot instance; prices per GPU-hour.

    Attributes:
        price: Current spot price; null while it waits
        yields_at: When its GPUs go to another renter; at least 120 s after the notice
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
        total: For the whole term, used or not
        starts_at: null: it starts with the first run, or when the current term ends
    """

    term: str
    payment: str
    hourly_rate: str
    total: str
    starts_at: datetime | None
    ends_at: datetime | None
    auto_renew: bool


class LaunchStatusOut(Struct, frozen=True, kw_only=True):
    """Status of the current run, as reported by the host.

    Attributes:
        on_start: null: no start script, or it has not started yet
        exit_code: Of the start script
        ready: null: no check, or no result yet
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
    """The log as far as it has been read.

    While `reading` is true, the host is still being queried; repeat the request.

    Attributes:
        cut: There are more matching lines
        reading: The host is being queried; repeat the request in a second
        failure: Why the last read failed
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

    Steps without a report are omitted.

    Attributes:
        step: Seconds
        made_of: Resolution of the source data: second, sample, minute, hour, day
        gpus: Empty when the last report is older than two minutes
    """

    step: int
    made_of: str
    points: list[MetricsPoint]
    gpus: list[GpuNow]


class MetricsPoint(Struct, frozen=True, kw_only=True):
    """Mean usage over one step; `_max` is its highest reading.

    Attributes:
        cpu_pct: Percent of one core
        rx_bytes: null at a step of one second, where it isn't measured
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
    """A clone or migration, and its progress.

    Attributes:
        source: inst_…
        target: inst_…; for a move, the same instance
        from_host: Name of the host
        to_host: Name of the host
        total_bytes: 0: not known yet
        progress: Latest progress message of the hosts
        checksum: SHA-256 over all chunks, compared on both hosts
        cuts: How often the connection between the hosts was interrupted
        switched_at: When the target was started
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
        password: Shown only once; null in a repeated response
    """

    password: str | None
    set_at: datetime


class PlaceInLine(Struct, frozen=True, kw_only=True):
    """Position in the queue for its GPUs; 1 is next.

    Suitable GPUs are not rented to anyone outside the queue.

    Attributes:
        until: When the queue place expires and the held funds are released
    """

    position: int
    of: int
    since: datetime
    until: datetime


class PortPair(Struct, frozen=True, kw_only=True):
    """A port of the container, and the host port that it is published on.

    Attributes:
        extra: Exposed by the renter, in addition to the image's own
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
        total_bytes: Size of all layers known so far
    """

    done_bytes: int
    total_bytes: int
    layers: list[LayerOut]
    at: datetime | None


Ready = Literal["ready", "starting", "not_ready"] | str


class Retention(Struct, frozen=True, kw_only=True):
    """How long the data of a stopped instance is kept.

    Attributes:
        until: When the data is deleted
        gb: Size billed for an extension: the system disk and the free part of the data disk
        daily_fee: Per day after the free period
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
    """Timers and the weekly schedule; omitted fields stay unchanged.

    Attributes:
        stop_at: Scheduled stop; null: none
        release_at: Scheduled release, which deletes the data; null: none
        weekly: The whole week, at most 28 entries; empty: no schedule
        time_zone: IANA name; required with `weekly`
    """

    stop_at: datetime | UnsetType | None = UNSET
    release_at: datetime | UnsetType | None = UNSET
    weekly: list[WeeklyEntry] | UnsetType = UNSET
    time_zone: str | UnsetType = UNSET


class SizeOut(Struct, frozen=True, kw_only=True):
    """Cost of a size at the offer's current prices.

    Attributes:
        hourly_rate: For all its GPUs, while running
        disk_daily: For the data disk above the free allowance, once expanded
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
    """A WebSocket to open once before `expires_at`, or the URL of a download (GET) or an upload (PUT).

    Binary frames of the WebSocket are data, text frames are JSON messages (docs/streams.md; for files,
    docs/files.md). Until then, a download can be repeated and resumed (`Range`), and an upload can be retried
    (docs/exec-and-copy.md).
    """

    url: str
    expires_at: datetime


class UsageOut(Struct, frozen=True, kw_only=True):
    """Cost of the instance so far.

    Attributes:
        hourly_rate: Current rate for its GPUs, or for running without GPUs
        cpu_hourly_rate: Hourly rate when started without GPUs (`start` with mode=cpu)
        disk_daily: For the data disk above the free allowance, running or stopped
        max_price: For spot instances: per GPU-hour
        keeps_gpus: Stopped, keeping its GPUs
        hold_fee: Hourly fee for keeping its GPUs while stopped
        cost_so_far: A term paid upfront counts in full
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
    """A link that gives access to anyone who has it.

    A session opened with it outlives the link.
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
