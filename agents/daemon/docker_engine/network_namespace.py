"""TCP connections from inside a container's network, which also reach ports on its loopback."""

import ctypes
import os
import socket
import threading
from pathlib import Path
from typing import Final

TIMEOUT: Final = 5.0
PROC: Final = Path("/proc")
_CLONE_NEWNET: Final = 0x40000000


class NotInside(OSError):
    """The agent cannot enter the container's network: it lacks the rights, or cannot see its processes."""


def connect_inside(pid: int, container: str, port: int, *, proc: Path = PROC) -> socket.socket:
    """Return a connection to 127.0.0.1:`port` in the network of the container's first process.

    A process id may belong to another process by now, and this machine's own network must never be taken for a
    container's. So the process has to be in the container's cgroup, and its network must differ from ours.

    Raises:
        NotInside: The container's network cannot be entered.
        OSError: Nothing answers there.
    """
    outcome: list[socket.socket | OSError] = []
    # The kernel moves a single thread into another network, so the work is done in a thread that ends afterwards.
    worker = threading.Thread(target=_connect, args=(outcome, pid, container, port, proc), name="netns", daemon=True)
    worker.start()
    worker.join()
    (found,) = outcome
    if isinstance(found, OSError):
        raise found
    return found


def _connect(outcome: list[socket.socket | OSError], pid: int, container: str, port: int, proc: Path) -> None:
    try:
        _enter(pid, container, proc)
        outcome.append(socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT))
    except OSError as error:
        outcome.append(error)


def _enter(pid: int, container: str, proc: Path) -> None:
    try:
        handle = os.open(proc / str(pid) / "ns" / "net", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise NotInside(f"the network of process {pid} cannot be seen: {error}") from error
    try:
        # Checked after it was opened: an open handle cannot change what it refers to.
        if container not in (proc / str(pid) / "cgroup").read_text():
            raise NotInside(f"process {pid} is not of the container")
        if os.fstat(handle).st_ino == (proc / "thread-self" / "ns" / "net").stat().st_ino:
            raise NotInside(f"process {pid} is in this machine's own network")
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(handle, _CLONE_NEWNET) != 0:
            raise NotInside(f"the network of process {pid} is closed to this agent: {os.strerror(ctypes.get_errno())}")
    except FileNotFoundError as error:
        raise NotInside(f"process {pid} has ended") from error
    finally:
        os.close(handle)
