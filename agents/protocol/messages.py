"""The messages of one exchange: what is (report, upwards) and what should be (desired state, downwards)."""

from dataclasses import dataclass, field
from typing import Literal

from agents.protocol.telemetry_messages import GpuEvent, SecondTrace

Run = Literal["running", "stopped", "gone"]
Phase = Literal["pulling", "creating", "testing", "running", "stopping", "stopped", "exited", "failed", "unknown"]


@dataclass(frozen=True)
class GpuFacts:
    """One physical GPU; `vram_mb` in MiB, `pcie_gen`/`pcie_width` as negotiated at most."""

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
    """What the host has. `cuda` is the highest version that its driver supports, such as "12.4"."""

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
    images: list[str] = field(default_factory=list)  # official images present by reference
    port_first: int = 0  # range of host ports kept for instances, inclusive
    port_last: int = 0
    address: str = ""  # name or address at which renters reach published ports
    warnings: list[str] = field(default_factory=list)  # preflight findings, plain sentences
    nvlink: bool | None = None  # every GPU has an active NVLink, and there are two at least; None: nobody could tell
    # Measured by the last self-test that did; None: not yet. Whole MB/s and Mbit/s against the control plane, and when, in
    # Unix seconds by the agent's clock: the control plane tells measurements apart by it.
    disk_read_mbps: int | None = None
    disk_write_mbps: int | None = None
    disk_measured_at: int | None = None
    net_up_mbps: int | None = None
    net_down_mbps: int | None = None
    net_measured_at: int | None = None
    keeps_ssh_list: bool | None = None  # whether `allow_from` of an instance is kept here; None: an agent that does not say
    root_limit: str = ""  # "disk": each root is on a disk of fixed size; "none": nothing bounds it; "": not told
    behind_nat: bool = False  # nobody can reach its ports from outside: renters come through the relay


@dataclass(frozen=True)
class Check:
    """One finding of a self-test. `value` is what was measured, in `unit`.

    `passed` is the agent's verdict; None when the control plane has to judge the value, or when the check could not be made:
    then `reason` says why. Texts are English and for people.
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
    """The outcome of the self-test that `DesiredState.self_test` asked for. Reported until that no longer names it."""

    id: str
    checks: list[Check]
    seconds: float = 0.0


@dataclass(frozen=True)
class OperationOrder:
    """Work beside the running of containers, such as a snapshot or a copy. It is named until its end has been reported, so
    an agent that knows nothing of it (any more) begins it; beginning again must go on from what is there.

    `kind` decides what `args` hold; an agent that does not know the kind reports it failed with "unknown_operation".
    """

    id: str  # uuid, 32 hex digits
    kind: str
    args: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ObservedOperation:
    """How far it is. Reported until the desired state no longer names it. Sizes in bytes; 0: not known."""

    id: str
    phase: Literal["running", "done", "failed"]
    done_bytes: int = 0
    total_bytes: int = 0
    detail: str = ""  # a sentence for its owner
    failure_code: str = ""
    outcome: dict[str, str] = field(default_factory=dict)
    done_files: int = 0
    total_files: int = 0  # 0: not known, or not a matter of files


@dataclass(frozen=True)
class GpuSample:
    uuid: str
    util_pct: int
    vram_used_mb: int
    temperature_c: int = 0
    power_w: int = 0


@dataclass(frozen=True)
class InstanceSample:
    """Use of one instance since the last report; CPU in percent of one core, memory in MiB, traffic in bytes."""

    cpu_pct: float
    ram_mb: int
    disk_mb: int
    rx_bytes: int
    tx_bytes: int
    gpus: list[GpuSample] = field(default_factory=list)
    oom_kills: int = 0  # programs that the kernel ended for lack of memory since the container's start
    trace: SecondTrace | None = None
    sessions: int = 0  # SSH connections, terminals and other streams that are open now


@dataclass(frozen=True)
class DiskUse:
    """How full a mounted disk is: a data disk (by its instance's id) or a volume (by its own)."""

    id: str  # uuid, 32 hex digits
    used_mb: int
    total_mb: int
    inodes_used: int
    inodes_total: int
    # "missing": the file that it is kept in is gone, so that it ends with its mount; "read_only": it takes no more writes;
    # "": neither; None: an agent that does not look.
    trouble: str | None = None


@dataclass(frozen=True)
class LayerProgress:
    """One layer of an image on its way; sizes in bytes, compressed."""

    id: str  # its first 12 hex digits
    done_bytes: int = 0
    total_bytes: int = 0  # 0: not known yet
    step: str = "waiting"  # waiting, downloading, downloaded, unpacking, ready
    unpacked_bytes: int = 0


@dataclass(frozen=True)
class ObservedInstance:
    """What the agent sees of one instance. An instance that it was told of and that has left nothing behind is reported by
    `id` in `Report.absent`, never as a row here."""

    id: str  # uuid, 32 hex digits
    generation: int  # of the desired state that this container was made or started for
    phase: Phase
    gpu_uuids: list[str] = field(default_factory=list)
    container: str = ""  # engine's id
    run_seconds: float = 0.0  # monotonic, since this container's last start; of a run that has ended: how long it was
    detail: str = ""  # a sentence for the renter: progress or failure
    failure_code: str = ""
    sample: InstanceSample | None = None
    layers: list[LayerProgress] = field(default_factory=list)  # while it is pulling; at most 64


@dataclass(frozen=True)
class Holding:
    """What this host has of one instance, by the engine's labels and the agent's journal: the highest of either."""

    id: str  # uuid, 32 hex digits
    generation: int
    fence: int
    run: Run  # as last ordered
    gpu_uuids: list[str] = field(default_factory=list)  # of its containers


@dataclass(frozen=True)
class Report:
    """Full observed state of a host. `facts` may be left out (None) when equal to what this boot last sent."""

    agent_version: str
    versions: list[int]
    facts: HostFacts | None
    instances: list[ObservedInstance] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)  # told to be gone, and proven gone: no container, network, mount, file
    foreign: list[str] = field(default_factory=list)  # containers with our label that no desired state names
    engine_age_s: float = 0.0  # seconds since the container engine last answered
    self_test: SelfTestResult | None = None
    operations: list[ObservedOperation] = field(default_factory=list)
    gpu_events: list[GpuEvent] = field(default_factory=list)
    disks: list[DiskUse] = field(default_factory=list)
    epoch: int | None = None  # the epoch that it speaks for; None: an agent that knows none
    # What has containers here that no desired state names; for an epoch that it has not agreed to yet, all that it has.
    holdings: list[Holding] = field(default_factory=list)


@dataclass(frozen=True)
class Mount:
    """Storage beside the data disk. A volume is found at /mnt/<name>, and this instance alone writes it; what is public is a
    snapshot by its id, read by many at /pub/<name>."""

    id: str  # uuid, 32 hex digits
    kind: Literal["volume", "public"]
    name: str  # lower-case letters, digits and hyphens
    size_gb: int = 0


@dataclass(frozen=True)
class DesiredInstance:
    """What one instance should be. A higher `generation` than the container's means: make it run (again) for this one.

    The container is named berth-<id>-<generation>. The agent refuses a `fence` lower than the highest it has accepted.
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
    data_disk_gb: int = 0  # fixed-size image at /data; 0 means none
    ports: list[tuple[int, int]] = field(default_factory=list)  # (container port, host port); 22 is always among them
    ssh_keys: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    stop_grace_s: int = 10
    preempt_at: int | None = None  # it is stopped then, for others: Unix seconds by the control plane's clock
    root: int = 0  # number of its root file system: one that no container here has means a fresh one, from `image`
    root_brought: bool = False  # that root came by a clone or a move: its first container is made of it, never of `image`
    password_hash: str = ""  # of root, as crypt(3) reads it; "": SSH takes no password
    allow_from: list[str] = field(default_factory=list)  # networks from which SSH answers; none: from everywhere
    mounts: list[Mount] = field(default_factory=list)
    has_ssh: bool = True  # else its own program runs, on a terminal, and the agent speaks SSH
    system_disk_gb: int = 0  # what its root may hold beside the image; 0: no limit
    image_bytes: int = 0  # compressed, as its registry says; 0: not known
    # Nothing of its renter's own is in its root yet: only then must SSH answer, since only then is its silence no renter's.
    untouched: bool = True
    root_made: bool = False  # it has run on this root: one that is missing is lost, and never made anew of `image`
    data_disk_made: bool = False  # its renter's data may be on it: one that is missing is lost, and never made anew
    # `username` and `password` of the image's registry, told only until it runs: never in labels, logs or journal.
    registry_auth: dict[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Tunnel:
    """A TCP port of the relay that leads to a port of an instance, for a host that nobody can reach from outside."""

    relay_port: int
    instance: str  # uuid, 32 hex digits
    port: int  # inside the instance
    ticket: str  # for the relay: this host may have that port
    allow: list[str] = field(default_factory=list)  # networks (CIDR) that may come in; empty: all


@dataclass(frozen=True)
class PrefetchImage:
    """An image of the market's own that a host may pull before anybody rents. `size_bytes`: compressed; 0: not known."""

    reference: str
    size_bytes: int = 0


@dataclass(frozen=True)
class DesiredState:
    """Everything that this host should run. An instance that the agent has and that is not named here is left as it is and
    reported as foreign; removal happens by `run="gone"` alone."""

    protocol: int
    version: int  # the host's change counter; the next wait compares with it
    wait_url: str
    wait_ticket: str
    instances: list[DesiredInstance] = field(default_factory=list)
    report_interval_s: float = 20.0
    need_facts: bool = False
    frozen: bool = False  # do nothing but report (second agent with this identity, or an operator's freeze)
    self_test: str = ""  # id of a self-test to make and to report; "" asks for none
    slip_key: str = ""  # this host's key to slips and grants, in hex; "": take none
    operations: list[OperationOrder] = field(default_factory=list)
    now: int = 0  # Unix seconds by the control plane's clock, by which grants end; 0: not told
    link_url: str = ""  # where to keep a WebSocket open for streams; "": nowhere
    link_ticket: str = ""
    epoch: int | None = None  # grows when the market goes on from a backup; None: a market that knows none
    tunnels: list[Tunnel] = field(default_factory=list)
    images: list[PrefetchImage] | None = None  # to pull while nothing else is; None: as told before


@dataclass(frozen=True)
class WaitAnswer:
    """The relay's. `slip` may hold the change that made `version`: see
    `agents.daemon.lib.sealed_orders`."""

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
