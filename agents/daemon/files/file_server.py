"""File access over a stream; requests run programs in the container, so nothing else is reachable.

A client sends requests as JSON, one after another: `{"do": "list", "path": "/root"}`. The last message of each
answer holds `ok`: true with the result, or false with a code for programs and a detail for people. Bytes of files
are sent as binary frames. Names that are not UTF-8 are encoded with Python's `surrogateescape`.
"""

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from agents.daemon.control_plane.websocket import StreamLost, WebSocketStream
from agents.daemon.engine.exec_interface import ExecInterface
from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.daemon.files import shell_scripts
from agents.daemon.files.file_receiver import FileReceiver, FrameQueue
from agents.daemon.files.protocol import (
    ContainerPath,
    FileRefusal,
    Request,
    parse_file_head,
    parse_listing,
    parse_size,
    parse_sum,
)
from agents.daemon.files.script_runner import LONG_S, SHORT_S, RunningScript, ScriptRunner, checksum_limit_s
from agents.protocol.codec import parse_json_object

IDLE_S: Final = 120.0  # seconds; a client that is idle for longer may return with another ticket
AT_ONCE: Final = 16  # clients of one instance
AFTER_S: Final = 0.3  # seconds in which a program that has written everything ends; one with more output is killed
ENTRIES_PER_MESSAGE: Final = 500


@dataclass(frozen=True)
class OnlyPath:
    """One path, and what a client may do with it."""

    path: str
    ways: frozenset[str]


class _FileSession:
    """Requests of one client."""

    def __init__(self, scripts: ScriptRunner, instance: str, websocket: WebSocketStream, only: "OnlyPath | None") -> None:
        self._scripts, self._instance, self._websocket, self._only = scripts, instance, websocket, only
        self.inbox = FrameQueue(websocket)
        receiver = FileReceiver(scripts, instance, websocket, self.inbox)
        ways: dict[str, Callable[[Request], Awaitable[None]]] = {
            "list": self._list,
            "read": self._read,
            "write": receiver.write,
            "unpack": receiver.unpack,
            "make_folder": self._make_folder,
            "move": self._move,
            "remove": self._remove,
            "sum": self._sum,
        }
        self._ways = ways if only is None else {name: ways[name] for name in only.ways}

    async def run(self) -> None:
        while True:
            try:
                frame = await asyncio.wait_for(self.inbox.next(), IDLE_S)
            except TimeoutError:
                return
            if frame is None:
                return
            if isinstance(frame, str) and "do" in (words := parse_json_object(frame)):
                await self._answer(words)  # binary frames left over from a refused upload are skipped

    async def _answer(self, words: dict[str, Any]) -> None:
        tag = {"id": words["id"]} if isinstance(words.get("id"), int | str) else {}
        try:
            way = self._ways.get(str(words["do"]))
            if way is None:
                raise FileRefusal("unknown_request", "This request is unknown or not allowed here.")
            await way(Request(words if self._only is None else {**words, "path": self._only.path}, tag))
        except FileRefusal as error:
            await self._websocket.send_json(**tag, ok=False, code=error.code, detail=str(error))
        except (EngineRefused, EngineSilent, OSError) as error:
            if isinstance(error, StreamLost):
                raise
            await self._websocket.send_json(**tag, ok=False, code="not_there", detail=str(error)[:200])

    async def _run(self, script: str, *arguments: str | bytes, limit_s: float = SHORT_S) -> bytes:
        return await self._scripts.run(self._instance, script, *arguments, limit_s=limit_s)

    async def _list(self, request: Request) -> None:
        mark = secrets.token_hex(8)
        most = str(shell_scripts.MOST_ENTRIES)
        found = parse_listing(await self._run(shell_scripts.LIST, request.place().path, mark, most), mark)
        for at in range(0, len(found.entries), ENTRIES_PER_MESSAGE):
            await self._websocket.send_json(**request.tag, entries=found.entries[at : at + ENTRIES_PER_MESSAGE])
        await self._websocket.send_json(**request.tag, ok=True, free_kb=found.free_kb, more=found.more)

    async def _make_folder(self, request: Request) -> None:
        await self._run(shell_scripts.MAKE_FOLDER, request.place().named().path)
        await self._websocket.send_json(**request.tag, ok=True)

    async def _move(self, request: Request) -> None:
        source, target = request.place().named(), request.place("to").named()
        await self._run(shell_scripts.MOVE, source.path, target.path, limit_s=LONG_S)
        await self._websocket.send_json(**request.tag, ok=True)

    async def _remove(self, request: Request) -> None:
        places = [place.named().path for place in request.places()]
        await self._run(shell_scripts.REMOVE, *places, limit_s=LONG_S)
        await self._websocket.send_json(**request.tag, ok=True)

    async def _sum(self, request: Request) -> None:
        path = request.place().path
        size = parse_size(await self._run(shell_scripts.SIZE, path))
        running = await self._scripts.start(self._instance, shell_scripts.SUM, path)
        limit_s = checksum_limit_s(size)
        output = await self._scripts.output_unless(self._instance, running, limit_s=limit_s, over=self.inbox.ended)
        if output is not None:  # else nobody waits for it any more
            await self._websocket.send_json(**request.tag, ok=True, sha256=parse_sum(output))

    async def _read(self, request: Request) -> None:
        """Send a file from an offset on, up to a number of bytes; a folder as a tar."""
        place, offset = request.place(), request.number("offset", 0)
        running = await self._scripts.start(self._instance, shell_scripts.READ, place.path, str(offset))
        running.program.close_input()
        try:
            whole_end = await self._send(request, place, running, offset)
        except (StreamLost, FileRefusal, asyncio.CancelledError):
            await self._scripts.end(self._instance, running)
            raise
        if whole_end:
            await self._scripts.finish(running)
        else:
            await self._scripts.end(self._instance, running)
        await self._websocket.send_json(**request.tag, ok=True)

    async def _send(self, request: Request, place: ContainerPath, running: RunningScript, offset: int) -> bool:
        """Send the content; return whether the program ended by itself."""
        kind, size, changed_at = parse_file_head(await running.line())
        if not kind:
            await self._scripts.finish(running)
            raise FileRefusal("failed", "The file could not be read.")
        if offset > size and kind == "file":
            raise FileRefusal("past_end", "The file ends before this offset.")
        head: dict[str, Any] = {"kind": kind, "name": os.fsdecode(place.name)}
        head |= {"size": size, "changed_at": changed_at} if kind == "file" else {}
        await self._websocket.send_json(**request.tag, **head)
        if kind == "folder":
            while piece := await running.out():
                await self._websocket.send(piece)
            return True
        left = min(size - offset, request.number("most", size))
        while left and (piece := await running.out()):
            await self._websocket.send(piece[:left])
            left -= len(piece[:left])
        if left:
            raise FileRefusal("changed", "The file was truncated while it was being read.")
        with suppress(TimeoutError):
            if offset + request.number("most", size) < size:
                return False
            return not await asyncio.wait_for(running.out(), AFTER_S)
        return False


class FileServer:
    """File access on one host. Everything here belongs to the streams' own thread."""

    def __init__(self, exec_interface: ExecInterface) -> None:
        self._scripts = ScriptRunner(exec_interface)
        self._clients: dict[str, int] = {}

    def crowded(self, instance: str) -> bool:
        return self._clients.get(instance, 0) >= AT_ONCE

    async def serve(self, instance: str, websocket: WebSocketStream, *, only: OnlyPath | None = None) -> None:
        """Serve one client until it leaves; with `only` it may do that and nothing else."""
        self._clients[instance] = self._clients.get(instance, 0) + 1
        session = _FileSession(self._scripts, instance, websocket, only)
        try:
            await session.run()
        except StreamLost:
            return
        finally:
            session.inbox.close()
            self._clients[instance] -= 1
            if not self._clients[instance]:
                del self._clients[instance]
