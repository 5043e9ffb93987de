"""Start scripts: run once in each run of a container, with their output in a file of the host."""

import json
import logging
import shlex
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

from agents.daemon.engine.exec_interface import Command
from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.daemon.lib.atomic_files import write_atomically
from agents.protocol.launch_messages import Launch, StartScript

logger = logging.getLogger(__name__)

LOG_BYTES: Final = 512 * 1024  # of each of the two files of one instance's log
LINES_PER_SECOND: Final = 1000
NOT_STARTED: Final = 126
_LINE_BYTES: Final = 4096
# The engine sends output and errors apart, and so not in their order.
_MERGED: Final = ("/bin/sh", "-c", 'exec "$@" 2>&1', "sh")
_HEAD: Final = struct.Struct(">BxxxL")
_CODE_TRIES, _CODE_PAUSE_S = 40, 0.05


class ScriptExec(Protocol):
    """Exec interface that can start a program as the instance's user."""

    def script(self, instance: str, words: list[str], launch: Launch) -> Command: ...


class ScriptLog:
    """Output of one instance's script, each line after its time; the oldest half is dropped when it gets too long."""

    def __init__(self, path: Path) -> None:
        self._path, self._former = path, path.with_suffix(".former")

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)
        self._former.unlink(missing_ok=True)

    def add(self, line: bytes) -> None:
        if self._path.exists() and self._path.stat().st_size > LOG_BYTES:
            self._path.replace(self._former)
        with self._path.open("ab") as file:
            file.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}Z ".encode() + line + b"\n")

    def read(self) -> bytes:
        return b"".join(path.read_bytes() for path in (self._former, self._path) if path.exists())


class Pace:
    """Limit on the lines that are read in a second: a script that writes more waits, as for any slow reader."""

    def __init__(self) -> None:
        self._lines, self._since = 0, time.monotonic()

    def step(self) -> None:
        self._lines += 1
        if self._lines >= LINES_PER_SECOND:
            time.sleep(max(0.0, self._since + 1.0 - time.monotonic()))
            self._lines, self._since = 0, time.monotonic()


class StartScripts:
    """Start scripts of this host's instances, with what is known of them in a folder of the agent."""

    def __init__(self, folder: Path, exec_interface: ScriptExec | None, changed: Callable[[], None]) -> None:
        self._folder = folder
        self._exec_interface = exec_interface
        self._changed = changed
        self._states: dict[str, tuple[str, StartScript]] = {}
        self._lock = threading.Lock()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def begin(self, instance: str, run: str, launch: Launch) -> None:
        """Start the script, unless it was started in this run already."""
        with self._lock:
            known = self._states.get(instance) or self._read(instance)
            if known is not None and known[0] == run:
                self._states[instance] = known
                return
            self._states[instance] = (run, StartScript("running"))
        self._store(instance, run, StartScript("running"))
        if self._exec_interface is None:
            self._end(instance, run, 0)
            return
        threading.Thread(target=self._run, args=(instance, run, launch), name="on-start", daemon=True).start()

    def state(self, instance: str, run: str) -> StartScript | None:
        known = self._states.get(instance)
        return known[1] if known is not None and known[0] == run else None

    def log(self, instance: str) -> bytes:
        return self._log(instance).read()

    def drop(self, instance: str) -> None:
        with self._lock:
            self._states.pop(instance, None)
        self._log(instance).clear()
        (self._folder / f"{instance}.json").unlink(missing_ok=True)

    def instances(self) -> set[str]:
        """Return the instances of which something is stored."""
        return {path.stem for path in self._folder.iterdir()}

    def _run(self, instance: str, run: str, launch: Launch) -> None:
        log, code = self._log(instance), NOT_STARTED
        try:
            log.clear()
            assert self._exec_interface is not None
            command = self._exec_interface.script(instance, [*_MERGED, *script_command(launch.on_start)], launch)
            with command.connection:
                command.connection.settimeout(None)
                pace = Pace()
                for line in lines_of(pieces_of(command.connection, command.first)):
                    if self.state(instance, run) is None:
                        return  # the instance is gone, or runs again
                    log.add(line)
                    pace.step()
            code = _exit_code(command)
        except (EngineRefused, EngineSilent, OSError) as error:
            logger.warning("the start script of %s did not run to its end: %s", instance, type(error).__name__)
            with suppress(OSError):
                log.add(b"The script could not be started, or the connection to it broke.")
        self._end(instance, run, code)

    def _end(self, instance: str, run: str, code: int) -> None:
        ended = StartScript("ended", code)
        with self._lock:
            if self._states.get(instance, ("", ended))[0] != run:
                return  # the next run has begun, or the instance is gone
            self._states[instance] = (run, ended)
        self._store(instance, run, ended)
        self._changed()

    def _log(self, instance: str) -> ScriptLog:
        return ScriptLog(self._folder / f"{instance}.log")

    def _store(self, instance: str, run: str, state: StartScript) -> None:
        content = json.dumps({"run": run, "state": state.state, "exit_code": state.exit_code})
        with suppress(OSError):
            write_atomically(self._folder / f"{instance}.json", content.encode())

    def _read(self, instance: str) -> tuple[str, StartScript] | None:
        """Return what an earlier process of this agent stored; a script that ran then is lost."""
        try:
            found = json.loads((self._folder / f"{instance}.json").read_bytes())
            ended = found["state"] == "ended"
            return found["run"], StartScript("ended", found["exit_code"]) if ended else StartScript("lost")
        except (OSError, ValueError, KeyError, TypeError):
            return None


def script_command(script: str) -> list[str]:
    """Return the command that runs a script: by /bin/sh, or by the shell that its first line names."""
    first = script.split("\n", 1)[0]
    words: list[str] = []
    if first.startswith("#!"):
        with suppress(ValueError):
            words = shlex.split(first[2:])
    return [*(words or ["/bin/sh"]), "-c", script]


def pieces_of(connection: socket.socket, first: bytes) -> Iterator[bytes]:
    """Yield what the program writes, from the engine's frames."""
    held = first
    while True:
        while len(held) < _HEAD.size:
            piece = connection.recv(65536)
            if not piece:
                return
            held += piece
        _kind, left = _HEAD.unpack(held[: _HEAD.size])
        held = held[_HEAD.size :]
        while left:
            if not held:
                held = connection.recv(65536)
                if not held:
                    return
            yield held[:left]
            used = min(left, len(held))
            held, left = held[used:], left - used


def lines_of(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines; a longer one than the log shows is cut into several, so that a line's length is bounded as well."""
    held = b""
    for piece in pieces:
        *whole, held = (held + piece).split(b"\n")
        for line in whole:
            yield from (line[at : at + _LINE_BYTES] for at in range(0, max(1, len(line)), _LINE_BYTES))
        while len(held) > _LINE_BYTES:
            yield held[:_LINE_BYTES]
            held = held[_LINE_BYTES:]
    if held:
        yield held


def _exit_code(command: Command) -> int:
    """Return the exit code, which the engine may know a moment after the last byte."""
    for _ in range(_CODE_TRIES):
        code = command.exit_code()
        if code is not None:
            return code
        time.sleep(_CODE_PAUSE_S)
    return NOT_STARTED
