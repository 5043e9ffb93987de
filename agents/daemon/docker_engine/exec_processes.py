"""Signals to all processes of a program that was started in a container, also those that it has started itself."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

MARK_VARIABLE: Final = "BERTH_EXEC"  # in the environment of a program, with an id of its own
PROC: Final = Path("/proc")
_SESSION_FIELD: Final = 3  # of /proc/<pid>/stat after the name: state, parent, group, session

# For an agent in a container of its own, which does not see the processes of others. $1: signal, $2: mark
SIGNAL_SCRIPT: Final = """
found=1
for folder in /proc/[0-9]*; do
  tr '\\0' '\\n' 2>/dev/null <"$folder/environ" | grep -qxF "$2" || continue
  kill -s "$1" "${folder#/proc/}" 2>/dev/null && found=0
done
exit $found
"""


def sees_container(container: str, pid: int, *, proc: Path = PROC) -> bool:
    """Return whether the container's first process is one of those that this agent sees."""
    return pid > 0 and _is_inside(proc / str(pid), container)


def signal_marked(container: str, mark: str, leader: int, number: int, *, proc: Path = PROC) -> int:
    """Signal the processes of the container that carry the mark or are in the leader's session; return their number.

    A process may take the mark out of its environment, or leave the session; one that does both is not found. Each
    is checked through a handle, so that a process id that was reused is never signalled.
    """
    count = 0
    for folder in _folders(proc):
        with suppress(OSError):
            handle = os.pidfd_open(int(folder.name))
            try:
                if _is_inside(folder, container) and _belongs(folder, mark, leader):
                    signal.pidfd_send_signal(handle, number)
                    count += 1
            finally:
                os.close(handle)
    return count


def _folders(proc: Path) -> Iterator[Path]:
    return (folder for folder in proc.iterdir() if folder.name.isdecimal())


def _is_inside(folder: Path, container: str) -> bool:
    try:
        return container in (folder / "cgroup").read_text()
    except OSError:
        return False


def _belongs(folder: Path, mark: str, leader: int) -> bool:
    fields = (folder / "stat").read_text().rpartition(")")[2].split()
    if fields[0] == "Z":
        return False  # it has ended already, and waits for its parent
    if leader and int(fields[_SESSION_FIELD]) == leader:
        return True
    return f"{MARK_VARIABLE}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0")
