"""Usage of a container from its cgroup (v1 and v2) and its network namespace.

The engine's own statistics take a second.
"""

import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from agents.daemon.engine.interface import Usage

ROOT = Path("/sys/fs/cgroup")
PROC = Path("/proc")
MIB = 1024**2
_SSH_PORT = ":0016"  # 22 as the kernel writes it
_ESTABLISHED = "01"
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Limits:
    """Limits of a container; 0 is none."""

    cpu_millis: int = 0
    ram_mb: int = 0
    pids: int = 0


def usage_of(pid: int, *, root: Path = ROOT, proc: Path = PROC) -> Usage | None:
    """Return the usage of the container of this process; None if the process has ended."""
    try:
        folders = _folders(pid, root, proc)
        received, sent = _traffic(proc / str(pid) / "net" / "dev")
        sessions = _sessions(proc / str(pid) / "net")
        return Usage(_cpu_ns(folders), _ram_mb(folders), received, sent, _oom_kills(folders), sessions)
    except (OSError, ValueError, KeyError):
        return None


def age_of(pid: int, *, proc: Path = PROC) -> float:
    """Return the seconds since a process started, by a clock that cannot be set; 0 if it has ended."""
    try:
        stat = (proc / str(pid) / "stat").read_text()
    except OSError:
        return 0.0
    started = int(stat.rpartition(")")[2].split()[19]) / _TICKS
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - started)


def booted_at() -> datetime:
    """Return when the machine was started, by its present clock."""
    return datetime.fromtimestamp(time.time() - time.clock_gettime(time.CLOCK_BOOTTIME), UTC)


def is_frozen(pid: int, *, root: Path = ROOT, proc: Path = PROC) -> bool:
    """Return whether the kernel has stopped the container of this process, or was told to (`docker pause`)."""
    try:
        folders = _folders(pid, root, proc)
        if "freezer" in folders:
            return (folders["freezer"] / "freezer.state").read_text().strip() != "THAWED"
        return bool(_table(folders[""] / "cgroup.events").get("frozen"))
    except (OSError, ValueError, KeyError):
        return False


def reduced_limits(
    pid: int, ordered: Limits, tolerance: float = 1.0, *, root: Path = ROOT, proc: Path = PROC, cpus: int | None = None
) -> str:
    """Return which limits of the container of this process are below those ordered; "" for none or if unknown."""
    try:
        folders = _folders(pid, root, proc)
        now = Limits(_cpu_limit(folders, cpus or os.cpu_count() or 1), _ram_limit(folders), _pids_limit(folders))
    except (OSError, ValueError, KeyError):
        return ""
    most = 1000 * (cpus or os.cpu_count() or 1)
    found = {
        "CPU": now.cpu_millis < min(ordered.cpu_millis, most) * tolerance,
        "memory": now.ram_mb < ordered.ram_mb,
        "processes": now.pids < ordered.pids,
    }
    return ", ".join(name for name, less in found.items() if less)


_UNLIMITED = 2**62


def _number(text: str) -> int:
    """Return a limit as the kernel writes it; `max` and negative numbers are none."""
    return _UNLIMITED if text.strip() == "max" or int(text) < 0 else int(text)


def _cpu_limit(folders: dict[str, Path], cpus: int) -> int:
    """Return the thousandths of CPUs that the quota and the set of CPUs allow."""
    if "cpu" in folders:
        quota = _number((folders["cpu"] / "cpu.cfs_quota_us").read_text())
        period = int((folders["cpu"] / "cpu.cfs_period_us").read_text())
    else:
        words = (folders[""] / "cpu.max").read_text().split()
        quota, period = _number(words[0]), int(words[1])
    return min(quota * 1000 // period, 1000 * _cpu_set(folders, cpus))


def _cpu_set(folders: dict[str, Path], cpus: int) -> int:
    place = folders["cpuset"] / "cpuset.cpus" if "cpuset" in folders else folders[""] / "cpuset.cpus.effective"
    try:
        spans = [span.partition("-") for span in place.read_text().strip().split(",") if span]
    except OSError:
        return cpus
    return sum(int(last or first) - int(first) + 1 for first, _, last in spans) or cpus


def _ram_limit(folders: dict[str, Path]) -> int:
    if "memory" in folders:
        return _number((folders["memory"] / "memory.limit_in_bytes").read_text()) // MIB
    limits = [(folders[""] / name).read_text() for name in ("memory.max", "memory.high")]
    return min(_number(text) for text in limits) // MIB


def _pids_limit(folders: dict[str, Path]) -> int:
    place = folders["pids"] if "pids" in folders else folders[""]
    return _number((place / "pids.max").read_text())


def _folders(pid: int, root: Path, proc: Path) -> dict[str, Path]:
    """Return the cgroup folder of each controller; the key "" is the unified hierarchy of v2."""
    found = {}
    for line in (proc / str(pid) / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            found[name] = root / name / path.lstrip("/") if name else root / path.lstrip("/")
    return found


def _cpu_ns(folders: dict[str, Path]) -> int:
    if "cpuacct" in folders:
        return int((folders["cpuacct"] / "cpuacct.usage").read_text())
    return _table(folders[""] / "cpu.stat")["usage_usec"] * 1000


def _ram_mb(folders: dict[str, Path]) -> int:
    """Return the memory in use in MiB, without the file cache that the kernel can drop at once."""
    if "memory" in folders:
        used = int((folders["memory"] / "memory.usage_in_bytes").read_text())
        cache = _table(folders["memory"] / "memory.stat")["total_inactive_file"]
    else:
        used = int((folders[""] / "memory.current").read_text())
        cache = _table(folders[""] / "memory.stat")["inactive_file"]
    return max(0, used - cache) // MIB


def _oom_kills(folders: dict[str, Path]) -> int:
    """Return how many processes the kernel killed for lack of memory; old kernels do not count them."""
    counted = folders["memory"] / "memory.oom_control" if "memory" in folders else folders[""] / "memory.events"
    try:
        return _table(counted).get("oom_kill", 0)
    except (OSError, ValueError):
        return 0


def _table(path: Path) -> dict[str, int]:
    return {name: int(value) for name, value in (line.split() for line in path.read_text().splitlines())}


def _traffic(path: Path) -> tuple[int, int]:
    received = sent = 0
    for line in path.read_text().splitlines()[2:]:
        name, _, numbers = line.partition(":")
        if name.strip() != "lo":
            columns = numbers.split()
            received, sent = received + int(columns[0]), sent + int(columns[8])
    return received, sent


def _sessions(folder: Path) -> int:
    """Return the established connections to the container's SSH server, in its own network."""
    tables = [folder / name for name in ("tcp", "tcp6")]
    rows = [row.split() for table in tables if table.exists() for row in table.read_text().splitlines()[1:]]
    return sum(1 for row in rows if row[1].endswith(_SSH_PORT) and row[3] == _ESTABLISHED)
