"""Lock that allows one stack per state folder; the kernel releases it when its holder dies.

The file holds the process id of the holder.
"""

import fcntl
import os
import signal
import time
from pathlib import Path

STOP_WITHIN_S = 40.0


class AlreadyRunning(Exception):
    """Another stack uses this state folder."""


class StackLock:
    """Lock held from start to end. The file remains; only the lock on it counts."""

    def __init__(self, pid_file: Path) -> None:
        pid_file.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(pid_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(self._descriptor, 32).decode().strip()
            os.close(self._descriptor)
            raise AlreadyRunning(holder) from error
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def stop_running(pid_file: Path, within_s: float = STOP_WITHIN_S) -> bool:
    """Ask the stack that holds the lock to stop, and wait for it; return False if none is running.

    Raises:
        TimeoutError: It did not stop in time.
    """
    deadline = time.monotonic() + within_s
    has_signalled = False
    while time.monotonic() < deadline:
        try:
            StackLock(pid_file).release()
        except AlreadyRunning as running:
            if not has_signalled and str(running).isdigit():
                os.kill(int(str(running)), signal.SIGTERM)
                has_signalled = True
            time.sleep(0.1)
        else:
            return has_signalled
    raise TimeoutError(f"The stack of {pid_file} did not stop within {within_s:g} s.")
