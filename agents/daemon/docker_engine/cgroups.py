"""Usage of a container from its cgroup (v1 and v2) and its network namespace.

The engine's own statistics take a second.
"""

import os
import time
from datetime import UTC, datetime
from pathlib import Path

from agents.daemon.engine.interface import Usage

ROOT = Path("/sys/fs/cgroup")
PROC = Path("/proc")
MIB = 1024**2
_SSH_PORT = ":0016"  # 22 as the kernel writes it
_ESTABLISHED = "01"
_TICKS = os.sysconf("SC_CLK_TCK")


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
