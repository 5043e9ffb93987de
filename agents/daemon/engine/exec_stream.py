"""Programs in a container, started from the event loop, and read and fed with backpressure."""

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from agents.daemon.engine.exec_interface import Command, ExecInterface, Terminal
from agents.daemon.engine.interface import EngineRefused, EngineSilent

Opened = TypeVar("Opened", socket.socket, Command, Terminal)

PIECE: Final = 64 * 1024
OUT: Final = 1
ERR: Final = 2
_HEAD: Final = struct.Struct(">BxxxL")
_EXIT_CODE_ATTEMPTS: Final = 40  # attempts to get the exit code, which the engine may know a moment after the last byte
_PAUSE_S: Final = 0.05


class Program:
    """One running program. Nothing is read ahead, so a program whose output is not read blocks."""

    def __init__(self, command: Command, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._command = command
        self._first = command.first
        self._reader, self._writer = reader, writer
        self._kind, self._left = OUT, 0

    @classmethod
    async def start(
        cls, exec_interface: ExecInterface, instance: str, words: Sequence[str], env: Mapping[str, str]
    ) -> "Program":
        """Start the program; one that is not in the image ends with 126 or 127 instead of an error here.

        Raises:
            EngineRefused: The engine refuses it, or the instance does not run.
            EngineSilent: The engine does not answer.
            OSError: The connection failed.
        """
        command = await open_in_thread(exec_interface.command, instance, words, env)
        command.connection.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=command.connection, limit=PIECE)
        return cls(command, reader, writer)

    async def piece(self) -> tuple[int, bytes]:
        """Return the next bytes of its output (OUT) or its errors (ERR); empty at the end."""
        try:
            while not self._left:
                head = b""
                while len(head) < _HEAD.size:
                    more = await self._read(_HEAD.size - len(head))
                    if not more:
                        return OUT, b""
                    head += more
                self._kind, self._left = _HEAD.unpack(head)
            piece = await self._read(min(PIECE, self._left))
        except OSError:
            return OUT, b""
        self._left -= len(piece)
        return self._kind, piece

    async def _read(self, most: int) -> bytes:
        if self._first:
            piece, self._first = self._first[:most], self._first[most:]
            return piece
        return await self._reader.read(most)

    async def write(self, piece: bytes) -> bool:
        """Write to its input with backpressure; return False once it accepts no more."""
        try:
            self._writer.write(piece)
            await self._writer.drain()
        except OSError:
            return False
        return not self._writer.is_closing()

    def close_input(self) -> None:
        """Close its input."""
        with suppress(OSError):
            if self._writer.can_write_eof():
                self._writer.write_eof()

    async def exit_code(self) -> int | None:
        """Return the exit code after its output has ended; None if the engine does not tell it."""
        for _ in range(_EXIT_CODE_ATTEMPTS):
            with suppress(EngineRefused, EngineSilent, OSError):
                code = await asyncio.to_thread(self._command.exit_code)
                if code is not None:
                    return code
            await asyncio.sleep(_PAUSE_S)
        return None

    def close(self) -> None:
        """Close the connection and drop unsent input.

        A program that reads no more would otherwise keep the connection open for good. A program that only writes
        is not stopped by this.
        """
        self._writer.transport.abort()


async def open_in_thread(call: Callable[..., Opened], *arguments: object) -> Opened:
    """Return what `call` opens in a thread; if the task is cancelled, close it as soon as it is open.

    `asyncio.to_thread` would lose it: the result is dropped with the task, and all tasks end with the loop.
    """
    opening = asyncio.get_running_loop().run_in_executor(None, partial(call, *arguments))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close_when_open)
        raise


def _close_when_open(opening: "asyncio.Future[Opened]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        made = opening.result()
        (made if isinstance(made, socket.socket) else made.connection).close()
