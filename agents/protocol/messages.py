"""Messages of one sync: the report of the observed state, and the desired state as the answer."""

from dataclasses import dataclass, field
from typing import Literal

from agents.protocol.launch_messages import Launch, ReadyState, StartScript
from agents.protocol.progress_messages import Said
from agents.protocol.telemetry_messages import GpuEvent, SecondTrace

Run = Literal["running", "stopped", "gone"]
Phase = Literal["pulling", "creating", "testing", "running", "stopping", "stopped", "exited", "failed", "unknown"]


@dataclass(frozen=True)
class GpuFacts:
    """One physical GPU; `vram_mb` in MiB, `pcie_gen` and `pcie_width` the highest that it can negotiate."""

    uuid: str
    name: str
    vram_mb: int
    index: int = 0
    pcie_gen: int = 0
    pcie_width: int = 0
    simulated: bool = False
    healthy: bool = True
    detail: str = ""


@dataclass(frozen=True)
class HostFacts:
    """Hardware and software of a host; `cuda` is the highest version that its driver supports ("12.4")."""

    hostname: str
    runtime: Literal["docker", "simulated"]
    runtime_version: str
    kernel: str
    cpu_model: str
    cpu_cores: int
    ram_mb: int
    disk_total_gb: int
    disk_free_gb: int
    disk_kind: Literal["nvme", "ssd", "hdd", "unknown"]
    driver: str
    cuda: str
    gpus: list[GpuFacts] = field(default_factory=list)
    images: list[str] = field(default_factory=list)  # images labelled as official: shown to staff, trusted nowhere
    port_first: int = 0  # range of host ports reserved for instances, inclusive
    port_last: int = 0
    address: str = ""  # name or address at which renters reach published ports
    warnings: list[str] = field(default_factory=list)  # preflight findings, as plain sentences
    nvlink: bool | None = None  # whether there are at least two GPUs and each has an active NVLink; None: unknown
    # Measured by the last self-test that did so; None: not yet. In whole MB/s, and in whole Mbit/s against the control
    # plane. The times are Unix seconds by the agent's clock; the control plane tells measurements apart by them.
    disk_read_mbps: int | None = None
    disk_write_mbps: int | None = None
    disk_measured_at: int | None = None
    net_up_mbps: int | None = None
    net_down_mbps: int | None = None
    net_measured_at: int | None = None
    keeps_ssh_list: bool | None = None  # whether `allow_from` is enforced here; None: an agent that does not report it
    root_limit: str = ""  # "disk": each root has a disk of fixed size; "none": no limit; "": not reported
    launch_settings: bool = False  # the agent applies `DesiredInstance.launch`
    publishes_udp: bool = False  # the agent applies `DesiredInstance.udp_ports`
    behind_nat: bool = False  # its ports cannot be reached from outside: renters come through the relay


@dataclass(frozen=True)
class Check:
    """One finding of a self-test. `value` is what was measured, in `unit`.

    `passed` is the agent's verdict. It is None when the control plane has to evaluate the value, or when the check
    could not be made; `reason` then says why. Texts are in English, for people to read.
    """

    id: str
    passed: bool | None = None
    actual: str = ""
    required: str = ""
    remedy: str = ""
    value: float | None = None
    unit: str = ""
    gpu: str = ""  # UUID, for a check of one GPU
    reason: str = ""  # one of REASONS
    simulated: bool = False


@dataclass(frozen=True)
class SelfTestResult:
    """Outcome of the self-test in `DesiredState.self_test`, reported until that no longer names it."""

    id: str
    checks: list[Check]
    seconds: float = 0.0


@dataclass(frozen=True)
class OperationOrder:
    """Work apart from running containers, such as a snapshot or a copy.

    The desired state names it until its end has been reported. So an agent that does not know of it (any more)
    starts it, and starting it again must resume from what is already done. `kind` decides what `args` hold; an
    agent that does not know the kind reports the operation as failed with "unknown_operation".
    """

    id: str  # uuid, 32 hex digits
    kind: str
    args: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ObservedOperation:
    """Progress or result of an operation, reported until no longer named; sizes in bytes, 0: unknown."""

    id: str
    phase: Literal["running", "done", "failed"]
    done_bytes: int = 0
    total_bytes: int = 0
    detail: str = ""  # a sentence for the owner of the instance or volume
    failure_code: str = ""
    outcome: dict[str, str] = field(default_factory=dict)
    done_files: int = 0
    total_files: int = 0  # 0: not known, or not counted in files
    said: Said | None = None  # `detail` as a code, where it is one of `agents.protocol.progress_messages`


@dataclass(frozen=True)
class GpuSample:
    uuid: str
    util_pct: int
    vram_used_mb: int
    temperature_c: int = 0
    power_w: int = 0


@dataclass(frozen=True)
class InstanceSample:
    """Usage since the last report: CPU in percent of one core, memory in MiB, traffic in bytes."""

    cpu_pct: float
    ram_mb: int
    disk_mb: int
    rx_bytes: int
    tx_bytes: int
    gpus: list[GpuSample] = field(default_factory=list)
    oom_kills: int = 0  # processes that the kernel killed for lack of memory since the container's start
    trace: SecondTrace | None = None
    sessions: int = 0  # open SSH connections, terminals and other streams


@dataclass(frozen=True)
class DiskUse:
    """Usage of a mounted disk: a data disk (by its instance's id) or a volume (by its own)."""

    id: str  # uuid, 32 hex digits
    used_mb: int
    total_mb: int
    inodes_used: int
    inodes_total: int
    # "missing": its image file was deleted, so that the disk is lost once it is unmounted; "read_only": writes fail;
    # "": no trouble; None: an agent that does not check.
    trouble: str | None = None


@dataclass(frozen=True)
class LayerProgress:
    """Download and unpacking of one layer of an image; sizes in bytes, compressed."""

    id: str  # its first 12 hex digits
    done_bytes: int = 0
    total_bytes: int = 0  # 0: not known yet
    step: str = "waiting"  # waiting, downloading, downloaded, unpacking, ready
    unpacked_bytes: int = 0


@dataclass(frozen=True)
class ObservedInstance:
    """State of one instance as observed; one that is proven gone is in `Report.absent` instead."""

    id: str  # uuid, 32 hex digits
    generation: int  # of the desired state for which this container was created or started
    phase: Phase
    gpu_uuids: list[str] = field(default_factory=list)
    container: str = ""  # the engine's id
    run_seconds: float = 0.0  # by a monotonic clock, since the container's start; of an ended run: its length
    detail: str = ""  # a sentence for the renter about progress or failure
    failure_code: str = ""
    sample: InstanceSample | None = None
    layers: list[LayerProgress] = field(default_factory=list)  # during a pull; at most 64
    said: Said | None = None  # `detail` as a code, where it is one of `agents.protocol.progress_messages`
    on_start: StartScript | None = None  # None: there is none in this run
    ready: ReadyState = ""  # by the readiness check; "": there is none, or it does not run


@dataclass(frozen=True)
class Holding:
    """What this host has of one instance: the highest of the engine's labels and the agent's journal."""

    id: str  # uuid, 32 hex digits
    generation: int
    fence: int
    run: Run  # as last ordered
    gpu_uuids: list[str] = field(default_factory=list)  # GPUs of its containers


@dataclass(frozen=True)
class Report:
    """Full observed state of a host; `facts` may be None if unchanged since this boot last sent them."""

    agent_version: str
    versions: list[int]
    facts: HostFacts | None
    instances: list[ObservedInstance] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)  # verified to be gone: no container, network, mount or file is left
    foreign: list[str] = field(default_factory=list)  # containers with our label that the desired state does not name
    engine_age_s: float = 0.0  # seconds since the container engine last answered
    self_test: SelfTestResult | None = None
    operations: list[ObservedOperation] = field(default_factory=list)
    gpu_events: list[GpuEvent] = field(default_factory=list)
    disks: list[DiskUse] = field(default_factory=list)
    epoch: int | None = None  # the epoch that the report belongs to; None: an agent that knows no epochs
    # What has containers here that the desired state does not name; all of it, for an epoch that the agent has not
    # agreed to yet.
    holdings: list[Holding] = field(default_factory=list)


@dataclass(frozen=True)
class Mount:
    """Storage other than the data disk.

    A volume is mounted at /mnt/<name>, writable for this instance alone. A public snapshot is mounted read-only at
    /pub/<name> and may be mounted by many instances; its `id` is the snapshot's.
    """

    id: str  # uuid, 32 hex digits
    kind: Literal["volume", "public"]
    name: str  # lower-case letters, digits and hyphens
    size_gb: int = 0


@dataclass(frozen=True)
class DesiredInstance:
    """Desired state of one instance; a `generation` above the container's requires a new start.

    The container is named berth-<id>-<generation>. The agent refuses a `fence` lower than the highest it has
    accepted.
    """

    id: str
    generation: int
    fence: int
    run: Run
    image: str
    gpu_uuids: list[str] = field(default_factory=list)
    simulated_gpus: bool = False
    cpu_millis: int = 0  # thousandths of a core
    ram_mb: int = 0
    pids_limit: int = 4096
    data_disk_gb: int = 0  # size of the data disk at /data; 0: none
    ports: list[tuple[int, int]] = field(default_factory=list)  # (container port, host port); 22 is always among them
    ssh_keys: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    stop_grace_s: int = 10
    preempt_at: int | None = None  # when it is preempted, in Unix seconds by the control plane's clock
    root: int = 0  # number of its root file system; if no container here has that root, a fresh one is made from `image`
    root_brought: bool = False  # its root was copied here: the first container is made of it, never of `image`
    password_hash: str = ""  # of root, in the form of crypt(3); "": SSH accepts no password
    allow_from: list[str] = field(default_factory=list)  # networks that may connect by SSH; empty: all
    mounts: list[Mount] = field(default_factory=list)
    has_ssh: bool = True  # else the image's own program runs, with a terminal, and the agent serves SSH
    system_disk_gb: int = 0  # limit for its root file system beyond the image; 0: no limit
    image_bytes: int = 0  # compressed size as the registry reports it; 0: not known
    # Whether its root holds nothing of the renter's yet. Only then must SSH answer: later the renter may turn it off.
    untouched: bool = True
    root_made: bool = False  # it has run on this root: a missing root is reported as lost, never made anew from `image`
    data_disk_made: bool = False  # the disk may hold the renter's data: a missing disk is reported as lost, never made anew
    # `username` and `password` for the image's registry, sent only until the instance runs; they must not be written to
    # labels, logs or the journal.
    registry_auth: dict[str, str] = field(default_factory=dict, repr=False)
    launch: Launch | None = None  # None: what the image says
    udp_ports: list[int] = field(default_factory=list)  # container ports of `ports` to publish for UDP as well


@dataclass(frozen=True)
class Tunnel:
    """TCP port of the relay that leads to a port of an instance on a host that is behind NAT."""

    relay_port: int
    instance: str  # uuid, 32 hex digits
    port: int  # inside the instance
    ticket: str  # shows the relay that this host may use that port
    allow: list[str] = field(default_factory=list)  # networks (CIDR) that may connect; empty: all


@dataclass(frozen=True)
class PrefetchImage:
    """Official image that a host may pull ahead of any rental. `size_bytes`: compressed; 0: not known."""

    reference: str
    size_bytes: int = 0


@dataclass(frozen=True)
class DesiredState:
    """Everything that this host should run.

    An instance that the agent has and that is not named here is left as it is and reported as foreign; only
    `run="gone"` removes an instance.
    """

    protocol: int
    version: int  # the host's change counter, which the next wait is compared with
    wait_url: str
    wait_ticket: str
    instances: list[DesiredInstance] = field(default_factory=list)
    report_interval_s: float = 20.0
    need_facts: bool = False
    frozen: bool = False  # only report (a second agent has this identity, or an operator has frozen the host)
    self_test: str = ""  # id of a self-test to run and report; "": none
    slip_key: str = ""  # this host's key for early orders and grants, in hex; "": accept neither
    operations: list[OperationOrder] = field(default_factory=list)
    now: int = 0  # Unix seconds by the control plane's clock, which limits grants; 0: unknown
    link_url: str = ""  # where to keep a WebSocket open for streams; "": nowhere
    link_ticket: str = ""
    epoch: int | None = None  # grows when the market is restored from a backup; None: a market that knows no epochs
    tunnels: list[Tunnel] = field(default_factory=list)
    images: list[PrefetchImage] | None = None  # to pull while nothing else is to do; None: unchanged


@dataclass(frozen=True)
class WaitAnswer:
    """Answer of the relay; `slip` may hold the change, encrypted (`agents.daemon.lib.sealed_orders`)."""

    version: int
    slip: str = ""


@dataclass(frozen=True)
class EnrolRequest:
    token: str
    public_key: str  # Ed25519, 64 hex digits
    agent_version: str
    versions: list[int]
    facts: HostFacts


@dataclass(frozen=True)
class EnrolReply:
    host_id: str
    name: str
    protocol: int
