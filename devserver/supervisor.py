"""Supervisor of child processes: ordered start, restart with back-off, stop in reverse order."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from devserver.terminal import print_status

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
SOUND_AFTER_S = 30.0  # seconds; a child that ran this long starts again with the first pause
LOG_LIMIT_BYTES = 5_000_000
_TAIL_LINES = 5

# Switches to the program's user, asks the kernel to end the program when the supervisor dies, however that happens, and
# executes the program. It is a separate launcher, since a `preexec_fn` may deadlock in a process that has threads.
_LAUNCHER = """
import ctypes, os, pwd, signal, sys
supervisor, number, user, *command = sys.argv[1:]
kernel = ctypes.CDLL(None)
signal.signal(int(number), signal.SIG_DFL)  # a shell ignores SIGINT for what it starts with `&`, and so would the program
if user:  # whoever it is may not be able to read this Python's own files, so nothing is imported from here on
    entry = pwd.getpwnam(user)
    os.initgroups(user, entry.pw_gid), os.setgid(entry.pw_gid), os.setuid(entry.pw_uid)
if sys.platform == "linux":
    kernel.prctl(1, int(number))
    if os.getppid() != int(supervisor):
        sys.exit("the supervisor is gone")
os.execvp(command[0], command)
"""


@dataclass(frozen=True)
class Program:
    """Program to run: name in the logs, command, whole environment, and how it is stopped."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(repr=False)
    grace_s: float = 5.0
    stop_signal: signal.Signals = signal.SIGTERM
    user: str = ""  # another system user to run as, which only root can choose


class Child:
    """One program, kept running until it is told to stop."""

    def __init__(self, program: Program, logs: Path) -> None:
        self.program = program
        self.log = logs / f"{program.name}.log"
        self._pause_s = FIRST_PAUSE_S
        self._start_at = 0.0
        self._started_at = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        _shorten(self.log)
        program = self.program
        launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER]
        launcher += [str(os.getpid()), str(int(program.stop_signal)), program.user]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 own command
                [*launcher, *program.command],
                env=dict(program.environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches only the supervisor, which stops the children in order
            )
        self._started_at = time.monotonic()

    def tend(self) -> None:
        """Start the child again if it has died and its pause is over."""
        now = time.monotonic()
        if self._process is None:
            if now >= self._start_at:
                self.start()
            return
        code = self._process.poll()
        if code is None:
            return
        self._clear()
        self._pause_s = FIRST_PAUSE_S if now - self._started_at > SOUND_AFTER_S else self._pause_s
        self._start_at = now + self._pause_s
        print_status(f"{self.program.name} {_ending(code)}; again in {self._pause_s:g} s. Last lines of {self.log}:")
        for line in last_lines(self.log, _TAIL_LINES):
            print_status(f"    {line}")
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    def request_stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(self.program.stop_signal)

    def end(self, deadline: float) -> None:
        """Wait until `deadline`, then kill the program and everything it has started."""
        if self._process is None:
            return
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            print_status(f"{self.program.name} did not stop in time and is killed")
        self._clear()

    def _clear(self) -> None:
        """Kill all processes that are left of its session."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None


class Supervisor:
    """Children in the order of their start, in groups that stop together."""

    def __init__(self, logs: Path) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self._logs = logs
        self._groups: list[list[Child]] = []

    def start(self, *programs: Program) -> None:
        """Start these as one group."""
        group = [Child(program, self._logs) for program in programs]
        self._groups.append(group)
        for child in group:
            child.start()

    def tend(self) -> None:
        for child in self._children():
            child.tend()

    def pids(self) -> dict[str, int | None]:
        return {child.program.name: child.pid for child in self._children()}

    def stop(self) -> None:
        while self._groups:
            group = self._groups.pop()
            for child in group:
                child.request_stop()
            now = time.monotonic()
            for child in group:
                child.end(now + child.program.grace_s)

    def _children(self) -> Iterable[Child]:
        return (child for group in self._groups for child in group)


def last_lines(log: Path, count: int) -> list[str]:
    with log.open("rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - 8_192))
        return stream.read().decode(errors="replace").splitlines()[-count:]


def _ending(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with code {code}"


def _shorten(log: Path) -> None:
    if log.exists() and log.stat().st_size > LOG_LIMIT_BYTES:
        log.replace(log.with_suffix(".log.1"))
