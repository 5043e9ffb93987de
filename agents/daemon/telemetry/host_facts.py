"""Facts about a host: CPU, memory, disk, kernel, and what its owner should fix before renting it out."""

import json
import os
import platform
import shutil
import socket
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

from agents.daemon.engine.interface import Runtime
from agents.daemon.gpu.nvml import GpuProbe
from agents.daemon.lib.config import AgentConfig
from agents.daemon.lib.journal import DAMAGED
from agents.daemon.lib.sizes import HEADROOM
from agents.protocol.messages import HostFacts

MEASUREMENTS_FILE: Final = "measured.json"
DiskKind = Literal["nvme", "ssd", "hdd", "unknown"]
GB = 1000**3
MIB = 1024**2
SYSTEM_RAM_MB = 2048
# A simulated host's size follows its simulated GPUs, not the machine that it is simulated on.
SIMULATED_CORES_PER_GPU = 16
SIMULATED_RAM_MB_PER_GPU = 64 * 1024
SIMULATED_DISK_GB = 4000
JOURNAL_DAMAGED = (
    f"The agent's journal was damaged on the disk: check the disk, then remove {DAMAGED} from the agent's folder."
)

DISK_FULL = "The disk of the agent's folder is full: nothing new can be made on this host until there is room again."


@dataclass(frozen=True)
class Measurements:
    """Results of the last self-tests, in whole MB/s and Mbit/s; times in Unix seconds by this machine."""

    disk_read_mbps: int | None = None
    disk_write_mbps: int | None = None
    disk_measured_at: int | None = None
    net_up_mbps: int | None = None
    net_down_mbps: int | None = None
    net_measured_at: int | None = None


def load_measurements(state: Path) -> Measurements:
    """Return the stored results; empty if the file is missing or torn, since a self-test repeats them."""
    try:
        return Measurements(**json.loads((state / MEASUREMENTS_FILE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return Measurements()


def save_measurements(state: Path, measured: Measurements) -> None:
    state.mkdir(parents=True, exist_ok=True)
    spare = state / f"{MEASUREMENTS_FILE}.new"
    spare.write_text(json.dumps(asdict(measured)))
    spare.replace(state / MEASUREMENTS_FILE)


def gather(config: AgentConfig, runtime: Runtime, probe: GpuProbe, state: Path) -> HostFacts:
    gpus = probe.facts()
    driver, cuda = probe.driver()
    cores, ram_mb, total_gb, free_gb, kind = (
        _simulated_shape(len(gpus)) if runtime.kind == "simulated" else _real_shape(state)
    )
    return HostFacts(
        hostname=config.name or socket.gethostname(),
        runtime=runtime.kind,
        runtime_version=runtime.version(),
        kernel=platform.release(),
        cpu_model=_cpu_model(),
        cpu_cores=cores,
        ram_mb=ram_mb,
        disk_total_gb=total_gb,
        disk_free_gb=free_gb,
        disk_kind=kind,
        driver=driver,
        cuda=cuda,
        gpus=gpus,
        images=runtime.official_images(),
        port_first=config.port_first,
        port_last=config.port_last,
        address="" if config.behind_nat else config.address,
        behind_nat=config.behind_nat,
        warnings=preflight(config, runtime, probe, state),
        nvlink=probe.nvlink(),
        launch_settings=True,
        publishes_udp=True,
        keeps_ssh_list=config.behind_nat or runtime.keeps_ssh_list(),  # behind NAT the relay enforces the list
        root_limit=runtime.root_limit(),
        **asdict(load_measurements(state)),
    )


def preflight(config: AgentConfig, runtime: Runtime, probe: GpuProbe, state: Path) -> list[str]:
    """Return findings for the host's owner, each a plain sentence."""
    if runtime.kind == "simulated":
        return ["This host is simulated: its instances are not real containers."]
    checks = [
        (probe.simulated, "The GPUs of this host are simulated."),
        (not probe.facts(), "No GPU was found."),
        (os.geteuid() != 0, "The agent does not run as root: data disks and the firewall will not work."),
        (shutil.which("iptables") is None, "iptables is missing: instances can reach the host's own network."),
        (shutil.which("mkfs.ext4") is None, "mkfs.ext4 is missing: data disks cannot be made."),
        ((state / DAMAGED).exists(), JOURNAL_DAMAGED),
        (shutil.disk_usage(state).free < HEADROOM, DISK_FULL),
        (_ephemeral(config), "Ports for instances lie in the range for outgoing connections: a start may find one taken."),
    ]
    return [sentence for found, sentence in checks if found]


def _simulated_shape(gpus: int) -> tuple[int, int, int, int, DiskKind]:
    count = max(1, gpus)
    return SIMULATED_CORES_PER_GPU * count, SIMULATED_RAM_MB_PER_GPU * count, SIMULATED_DISK_GB, SIMULATED_DISK_GB, "nvme"


def _real_shape(state: Path) -> tuple[int, int, int, int, DiskKind]:
    disk = shutil.disk_usage(state)
    return os.cpu_count() or 1, _ram_mb(), disk.total // GB, disk.free // GB, disk_kind(state)


def _ram_mb() -> int:
    """Return the memory for instances in MiB: the system and the agent keep some."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MIB
    return whole - min(SYSTEM_RAM_MB, whole // 8)


@cache
def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def disk_kind(path: Path, *, blocks: Path = Path("/sys/dev/block")) -> DiskKind:
    """Return the kind of the disk under `path`, as the kernel sees it."""
    device = path.stat().st_dev
    link = blocks / f"{os.major(device)}:{os.minor(device)}"
    if not link.exists():
        return "unknown"
    folder = link.resolve()
    if folder.name.startswith("nvme"):
        return "nvme"
    if not (folder / "queue").exists():
        folder = folder.parent  # a partition, whose disk has the queue
    rotational = folder / "queue" / "rotational"
    if not rotational.exists():
        return "unknown"
    return "hdd" if rotational.read_text().strip() == "1" else "ssd"


def _ephemeral(config: AgentConfig) -> bool:
    if config.behind_nat:
        return False  # it publishes no ports
    source = Path("/proc/sys/net/ipv4/ip_local_port_range")
    if not source.exists():
        return False
    first, last = map(int, source.read_text().split())
    kept = Path("/proc/sys/net/ipv4/ip_local_reserved_ports").read_text().split(",")
    reserved = f"{config.port_first}-{config.port_last}" in [item.strip() for item in kept]
    return config.port_first <= last and config.port_last >= first and not reserved
