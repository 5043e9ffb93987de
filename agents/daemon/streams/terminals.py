"""Terminals that outlive a broken connection: the shell keeps running, and its last output is kept."""

import asyncio
import logging
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from agents.daemon.control_plane.websocket import StreamLost, WebSocketStream
from agents.daemon.engine.exec_interface import ExecInterface, Terminal
from agents.daemon.engine.exec_stream import open_in_thread
from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.protocol.codec import parse_json_object

logger = logging.getLogger(__name__)

PIECE: Final = 32 * 1024
KEPT_BYTES: Final = 256 * 1024
LINGER_S: Final = 600.0
AT_ONCE: Final = 16  # terminals of one instance
SIZE: Final = (80, 24)
LARGEST: Final = 1000

Key = tuple[str, str]  # (instance, session)


@dataclass
class TerminalSession:
    """One shell, with the client that watches it at the moment, if any."""

    key: Key
    terminal: Terminal
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    websocket: WebSocketStream | None = None
    kept: deque[bytes] = field(default_factory=deque)
    kept_bytes: int = 0
    flowing: asyncio.Event = field(default_factory=asyncio.Event)
    left_at: float = 0.0
    pump: asyncio.Task[None] | None = None
    ended: bool = False

    def keep(self, piece: bytes) -> None:
        self.kept.append(piece)
        self.kept_bytes += len(piece)
        while self.kept_bytes > KEPT_BYTES:
            self.kept_bytes -= len(self.kept.popleft())


class Terminals:
    """Terminals of one host. Everything here belongs to the streams' own thread."""

    def __init__(self, exec_interface: ExecInterface) -> None:
        self._exec_interface = exec_interface
        self._sessions: dict[Key, TerminalSession] = {}
        self._opening = asyncio.Lock()

    def watched(self, instance: str) -> int:
        """Return how many terminals are being watched."""
        return sum(key[0] == instance and own.websocket is not None for key, own in self._sessions.items())

    async def open(self, instance: str, name: str, size: str) -> TerminalSession:
        """Return the session of that name, or one with a new shell.

        Raises:
            EngineRefused: The engine refuses it, or the instance does not run.
            EngineSilent: The engine does not answer.
            OSError: The connection failed.
        """
        key = (instance, name)
        async with self._opening:
            found = self._sessions.get(key)
            if found is not None and not found.ended:
                columns, rows = _size(size)
                await self._resize(found, f"{columns}x{rows - 1}")  # makes a full-screen program redraw
                await self._resize(found, size)
                return found
            await self._make_room(instance)
            await asyncio.to_thread(self._hang_up_strangers, instance, name)
            terminal = await open_in_thread(self._exec_interface.terminal, instance, name, _size(size))
            terminal.connection.setblocking(False)
            session = TerminalSession(key, terminal, *await asyncio.open_connection(sock=terminal.connection))
            session.keep(terminal.first)
            self._sessions[key] = session
            session.pump = asyncio.create_task(self._forward_output(session))
            return session

    async def attach(self, session: TerminalSession, websocket: WebSocketStream) -> None:
        """Connect a client with a session until either ends; a second client takes over from the first."""
        if session.websocket is not None:
            await session.websocket.close()
        with suppress(StreamLost):
            if session.kept:
                await websocket.send(b"".join(session.kept))
            session.websocket = websocket
            session.flowing.set()
            if session.ended:
                await self._send_exit_code(session)
            async for frame in websocket:
                await self._handle_frame(session, frame)
        if session.websocket is websocket:
            session.websocket, session.left_at = None, time.monotonic()
            session.flowing.set()  # a shell that nobody watches must not block

    async def end(self, *, all_of: bool = False) -> None:
        """Close terminals that nobody has watched for a while; with `all_of`, all."""
        now = time.monotonic()
        for key, own in list(self._sessions.items()):
            if all_of or own.ended or (own.websocket is None and now - own.left_at > LINGER_S):
                await self._close_session(key)

    def _hang_up_strangers(self, instance: str, name: str) -> None:
        """Send SIGHUP to shells that an earlier run of this agent left, or that were closed here."""
        keep = [*(key[1] for key in self._sessions if key[0] == instance), name]
        with suppress(EngineRefused, EngineSilent):
            self._exec_interface.hang_up(instance, keep)

    async def _make_room(self, instance: str) -> None:
        own = [item for key, item in self._sessions.items() if key[0] == instance]
        for session in sorted(own, key=lambda item: (item.websocket is not None, item.left_at))[: len(own) - AT_ONCE + 1]:
            await self._close_session(session.key)

    async def _close_session(self, key: Key) -> None:
        session = self._sessions.pop(key, None)
        if session is None:
            return
        if session.pump is not None:
            session.pump.cancel()
        session.writer.transport.abort()  # what was typed and not read is lost with the shell
        if session.websocket is not None:
            await session.websocket.close()
        if not session.ended:
            await asyncio.to_thread(self._hang_up_strangers, key[0], "-")

    async def _forward_output(self, session: TerminalSession) -> None:
        """Send the shell's output to its client, and keep the last of it for a client that returns."""
        with suppress(OSError):
            while piece := await session.reader.read(PIECE):
                session.keep(piece)
                if session.websocket is not None:
                    await session.flowing.wait()
                    with suppress(StreamLost):
                        await session.websocket.send(piece)
        session.ended = True
        session.writer.transport.abort()
        await self._send_exit_code(session)
        self._sessions.pop(session.key, None)

    async def _send_exit_code(self, session: TerminalSession) -> None:
        code: int | None = None
        with suppress(EngineRefused, EngineSilent, OSError):
            code = await asyncio.to_thread(session.terminal.exit_code)
        if session.websocket is not None:
            with suppress(StreamLost):
                await session.websocket.send_json(exit=code)
            await session.websocket.close()

    async def _handle_frame(self, session: TerminalSession, frame: bytes | str) -> None:
        if isinstance(frame, bytes):
            with suppress(OSError):
                session.writer.write(frame)
                await session.writer.drain()
            return
        words = parse_json_object(frame)
        if "resize" in words:
            await self._resize(session, "x".join(map(str, words["resize"])) if isinstance(words["resize"], list) else "")
        elif "flow" in words:  # the page is behind with drawing, or has caught up
            session.flowing.set() if words["flow"] else session.flowing.clear()
        elif "bye" in words:
            await self._close_session(session.key)

    async def _resize(self, session: TerminalSession, size: str) -> None:
        with suppress(EngineRefused, EngineSilent, OSError):
            await asyncio.to_thread(session.terminal.resize, *_size(size))


def _size(text: str) -> tuple[int, int]:
    """Parse columns and rows from "120x40"; the default size for any other text."""
    columns, _, rows = text.partition("x")
    if columns.isdecimal() and rows.isdecimal() and 0 < int(columns) <= LARGEST and 0 < int(rows) <= LARGEST:
        return int(columns), int(rows)
    return SIZE
