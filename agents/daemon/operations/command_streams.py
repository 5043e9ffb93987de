"""A command while it runs: its input, its output, and its end by itself or by time."""

import base64
import logging
import selectors
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Protocol

from agents.daemon.disks.operation_runner import Operation
from agents.daemon.engine.exec_interface import Command
from agents.daemon.engine.exec_stream import ERR, OUT
from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.daemon.lib.errors import Superseded

logger = logging.getLogger(__name__)

OUTPUT_BYTES: Final = 256 * 1024  # of output and errors each; the rest is read and dropped
GRACE_S: Final = 2.0  # between SIGTERM and SIGKILL
APPEARS_S: Final = 5.0  # what the engine was told to start may be among the processes this much later
DROPPED_BYTES_PER_S: Final = 16 * 1024 * 1024  # pace of output that nobody gets
_PIECE: Final = 64 * 1024
_TICK_S: Final = 0.2
_LOOK_S: Final = 1.0  # how often the engine is asked whether it has ended, since others may hold its output open
_PROBE: Final = 0  # a signal that does nothing
_KILLS, _KILL_PAUSE_S = 50, 0.1
_CODE_TRIES, _CODE_PAUSE_S = 40, 0.05
_HEAD: Final = struct.Struct(">BxxxL")


class StartedCommand(Command, Protocol):
    """A command whose first process is known."""

    def pid(self) -> int:
        """Return the id of its first process on this machine; 0 if it is not known."""


class Frames:
    """The engine's frames of a program's output, as they arrive in pieces."""

    def __init__(self) -> None:
        self._head, self._kind, self._left = b"", OUT, 0

    def feed(self, piece: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield (kind, bytes) for what is in the piece."""
        while piece:
            if not self._left:
                missing = _HEAD.size - len(self._head)
                self._head, piece = self._head + piece[:missing], piece[missing:]
                if len(self._head) == _HEAD.size:
                    self._kind, self._left = _HEAD.unpack(self._head)
                    self._head = b""
                continue
            part, piece = piece[: self._left], piece[self._left :]
            self._left -= len(part)
            yield self._kind, part


@dataclass
class Output:
    """The beginning of what a command writes to one stream."""

    kept: bytearray = field(default_factory=bytearray)
    is_cut: bool = False

    def add(self, part: bytes) -> int:
        """Keep what there is room for; return how many bytes were dropped."""
        fits = part[: OUTPUT_BYTES - len(self.kept)]
        self.kept += fits
        dropped = len(part) - len(fits)
        self.is_cut = self.is_cut or dropped > 0
        return dropped

    @property
    def text(self) -> str:
        return base64.b64encode(self.kept).decode()


@dataclass
class RunningCommand:
    """One command while it runs."""

    operation: Operation
    command: StartedCommand
    stop: Callable[[int], bool]
    ends_at: float
    unsent: bytes
    outputs: dict[int, Output] = field(default_factory=lambda: {OUT: Output(), ERR: Output()})
    timed_out: bool = False
    next_look: float = field(default_factory=lambda: time.monotonic() + _LOOK_S)
    ended_at: float | None = None

    def follow(self) -> None:
        """Send its input and read its output until it ends; end it when its time is over.

        Raises:
            Superseded: It is not wanted any more, or the agent ends.
        """
        connection, frames = self.command.connection, Frames()
        connection.setblocking(False)
        self._take(frames, self.command.first)
        with selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_READ | selectors.EVENT_WRITE)
            while True:
                self._check_time()
                events = selector.select(_TICK_S)
                if self._is_over(quiet=not events):
                    return
                for _, ready in events:
                    if ready & selectors.EVENT_WRITE and not self._send():
                        selector.modify(connection, selectors.EVENT_READ)
                    if ready & selectors.EVENT_READ and not self._read(frames):
                        return

    def end(self) -> None:
        """End the program and what it has started."""
        end_program(self.stop, is_over=lambda: known_code(self.command) is not None)

    def _check_time(self) -> None:
        if self.operation.cancelled.is_set():
            raise Superseded
        if not self.timed_out and time.monotonic() >= self.ends_at:
            self.timed_out = True
            self.end()

    def _is_over(self, *, quiet: bool) -> bool:
        """Return whether it has ended and its own output is read; what it has left behind may write on."""
        now = time.monotonic()
        if self.ended_at is None and now >= self.next_look:
            self.next_look = now + _LOOK_S
            if self.timed_out or known_code(self.command) is not None:
                self.ended_at = now
        return self.ended_at is not None and (quiet or now - self.ended_at > _LOOK_S)

    def _send(self) -> bool:
        """Send a piece of the input, and its end after the last; return whether there is more."""
        with suppress(BlockingIOError, InterruptedError):
            if self.unsent:
                try:
                    self.unsent = self.unsent[self.command.connection.send(self.unsent[:_PIECE]) :]
                except (BrokenPipeError, ConnectionResetError):
                    self.unsent = b""
            if not self.unsent:
                with suppress(OSError):
                    self.command.connection.shutdown(socket.SHUT_WR)
        return bool(self.unsent)

    def _read(self, frames: Frames) -> bool:
        """Read a piece; return False at the end."""
        try:
            piece = self.command.connection.recv(_PIECE)
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            return False
        self._take(frames, piece)
        return bool(piece)

    def _take(self, frames: Frames, piece: bytes) -> None:
        dropped = sum(self.outputs[ERR if kind == ERR else OUT].add(part) for kind, part in frames.feed(piece))
        if dropped:
            time.sleep(dropped / DROPPED_BYTES_PER_S)


def end_program(stop: Callable[[int], bool], *, is_over: Callable[[], bool] = lambda: False) -> None:
    """End a program and what it has started: SIGTERM, and after a while SIGKILL until nothing is left.

    One that was told to start a moment ago is waited for, unless `is_over`: else it would start once nobody ends it.
    """
    try:
        appears_until = time.monotonic() + APPEARS_S
        while not stop(signal.SIGTERM):
            if is_over() or time.monotonic() >= appears_until:
                return
            time.sleep(_KILL_PAUSE_S)
        ends = time.monotonic() + GRACE_S
        while time.monotonic() < ends and stop(_PROBE):
            time.sleep(_KILL_PAUSE_S)
        for _ in range(_KILLS):
            if not stop(signal.SIGKILL):
                return
            time.sleep(_KILL_PAUSE_S)
        logger.warning("a command in a container could not be ended")
    except (EngineRefused, EngineSilent, OSError) as error:
        logger.warning("a command in a container may still run: %s", type(error).__name__)


def exit_code_of(command: Command) -> int | None:
    """Return the exit code, which the engine may know a moment after the last byte."""
    for _ in range(_CODE_TRIES):
        if (code := known_code(command)) is not None:
            return code
        time.sleep(_CODE_PAUSE_S)
    return None


def known_code(command: Command) -> int | None:
    """Return the exit code, None while the engine does not know it."""
    with suppress(EngineRefused, EngineSilent, OSError):
        return command.exit_code()
    return None
