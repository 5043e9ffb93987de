"""File access over a stream; requests run programs in the container, so nothing else is reachable.

A client sends requests as JSON, one after another: `{"do": "list", "path": "/root"}`. The last message of each
answer holds `ok`: true with the result, or false with a code for programs and a detail for people. Bytes of files
are sent as binary frames. Names that are not UTF-8 are encoded with Python's `surrogateescape`.
"""

import asyncio
import hashlib
import os
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, NoReturn

from agents.daemon.control_plane.websocket import Frame, StreamLost, WebSocketStream
from agents.daemon.engine.exec_interface import ExecInterface
from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.daemon.files import shell_scripts
from agents.daemon.files.protocol import ContainerPath, FileRefusal, Request, parse_checksum, parse_file_head, parse_listing
from agents.daemon.files.script_runner import RunningScript, ScriptRunner, WriterTurn
from agents.protocol.codec import parse_json_object

IDLE_S: Final = 120.0  # seconds; a client that is idle for longer may return with another ticket
AT_ONCE: Final = 16  # clients of one instance
SHORT_S: Final = 30.0
LONG_S: Final = 900.0
AFTER_S: Final = 0.3  # seconds in which a program that has written everything ends; one with more output is killed
FRAMES_AHEAD: Final = 8
REPORT_EVERY_BYTES: Final = 512 * 1024
ENTRIES_PER_MESSAGE: Final = 500


class Cancelled(FileRefusal):
    """The client cancelled its upload."""


class FrameQueue:
    """Incoming frames of a client, read a few ahead of the work. None means its end."""

    def __init__(self, outlet: WebSocketStream) -> None:
        self._outlet = outlet
        self._frames: asyncio.Queue[Frame | None] = asyncio.Queue(FRAMES_AHEAD)
        self._pump = asyncio.create_task(self._run())

    async def next(self) -> Frame | None:
        return await self._frames.get()

    def close(self) -> None:
        self._pump.cancel()

    async def _run(self) -> None:
        async for frame in self._outlet:
            await self._frames.put(frame)
        await self._frames.put(None)


class _FileSession:
    """Requests of one client."""

    def __init__(self, scripts: ScriptRunner, instance: str, outlet: WebSocketStream, only: str | None) -> None:
        self._scripts, self._instance, self._outlet, self._only = scripts, instance, outlet, only
        self.inbox = FrameQueue(outlet)
        ways: dict[str, Callable[[Request], Awaitable[None]]] = {
            "list": self._list,
            "read": self._read,
            "write": self._write,
            "make_folder": self._make_folder,
            "move": self._move,
            "remove": self._remove,
            "sum": self._sum,
        }
        self._ways = ways if only is None else {"read": ways["read"]}

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
                raise FileRefusal("unknown_request", "This is no request that is known or allowed here.")
            await way(Request(words if self._only is None else {**words, "path": self._only}, tag))
        except FileRefusal as error:
            await self._outlet.say(**tag, ok=False, code=error.code, detail=str(error))
        except (EngineRefused, EngineSilent, OSError) as error:
            if isinstance(error, StreamLost):
                raise
            await self._outlet.say(**tag, ok=False, code="not_there", detail=str(error)[:200])

    async def _run(self, script: str, *arguments: str | bytes, limit_s: float = SHORT_S) -> bytes:
        """Run a script with a short output and return that output.

        Raises:
            FileRefusal: The script failed or took too long.
        """
        running = await self._scripts.start(self._instance, script, *arguments)
        running.program.close_input()
        try:
            said = await asyncio.wait_for(running.rest(), limit_s)
        except TimeoutError as error:
            await self._scripts.end(self._instance, running)
            raise FileRefusal("too_slow", "This takes too long; do it in the terminal.") from error
        finally:
            running.program.close()
        await self._scripts.finish(running)
        return said

    async def _list(self, request: Request) -> None:
        mark = secrets.token_hex(8)
        most = str(shell_scripts.MOST_ENTRIES)
        found = parse_listing(await self._run(shell_scripts.LIST, request.place().path, mark, most), mark)
        for at in range(0, len(found.entries), ENTRIES_PER_MESSAGE):
            await self._outlet.say(**request.tag, entries=found.entries[at : at + ENTRIES_PER_MESSAGE])
        await self._outlet.say(**request.tag, ok=True, free_kb=found.free_kb, more=found.more)

    async def _make_folder(self, request: Request) -> None:
        await self._run(shell_scripts.MAKE_FOLDER, request.place().named().path)
        await self._outlet.say(**request.tag, ok=True)

    async def _move(self, request: Request) -> None:
        source, target = request.place().named(), request.place("to").named()
        await self._run(shell_scripts.MOVE, source.path, target.path, limit_s=LONG_S)
        await self._outlet.say(**request.tag, ok=True)

    async def _remove(self, request: Request) -> None:
        places = [place.named().path for place in request.places()]
        await self._run(shell_scripts.REMOVE, *places, limit_s=LONG_S)
        await self._outlet.say(**request.tag, ok=True)

    async def _sum(self, request: Request) -> None:
        said = await self._run(shell_scripts.SUM, request.place().path, limit_s=LONG_S)
        await self._outlet.say(**request.tag, ok=True, sha256=said.split()[0].decode())

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
        await self._outlet.say(**request.tag, ok=True)

    async def _send(self, request: Request, place: ContainerPath, running: RunningScript, offset: int) -> bool:
        """Send the content; return whether the program ended by itself."""
        kind, size, changed_at = parse_file_head(await running.line())
        if not kind:
            await self._scripts.finish(running)
            raise FileRefusal("failed", "The file could not be read.")
        if offset > size and kind == "file":
            raise FileRefusal("past_end", "The file ends before this byte.")
        head: dict[str, Any] = {"kind": kind, "name": os.fsdecode(place.name)}
        head |= {"size": size, "changed_at": changed_at} if kind == "file" else {}
        await self._outlet.say(**request.tag, **head)
        if kind == "folder":
            while piece := await running.out():
                await self._outlet.give(piece)
            return True
        left = min(size - offset, request.number("most", size))
        while left and (piece := await running.out()):
            await self._outlet.give(piece[:left])
            left -= len(piece[:left])
        if left:
            raise FileRefusal("changed", "The file became shorter while it was read.")
        with suppress(TimeoutError):
            if offset + request.number("most", size) < size:
                return False
            return not await asyncio.wait_for(running.out(), AFTER_S)
        return False

    async def _write(self, request: Request) -> None:
        """Receive a file; resume where an earlier attempt with the same `key` broke off.

        The file gets its name only once it is complete.
        """
        place, size = request.place().named(), request.number("size", None)
        key = hashlib.sha256(b"\0".join([place.name, str(size).encode(), request.text("key").encode()])).hexdigest()[:16]
        part = place.unfinished(key)
        turn = await self._scripts.acquire_turn(self._instance, part)
        try:
            said = await self._receive_file(request, place, part, turn)
        finally:
            self._scripts.release_turn(self._instance, part, turn)
        await self._outlet.say(**request.tag, ok=True, sha256=said)

    async def _receive_file(self, request: Request, place: ContainerPath, part: bytes, turn: WriterTurn) -> str:
        size, wanted, replace = str(request.number("size", None)), request.sha256(), "1" if request.flag("replace") else "0"
        parents = "1" if request.flag("make_folders") else "0"
        folder = place.folder or b"/"
        running = await self._scripts.start(
            self._instance, shell_scripts.WRITE, folder, part, place.path, size, wanted, replace, parents
        )
        try:
            last, said = await self._receive_content(request, running, turn)
        except Cancelled:
            await self._run(shell_scripts.REMOVE, part)
            raise
        finally:
            running.program.close()
        if not wanted:
            late = request.sha256(last)
            said = await self._run(shell_scripts.FINISH, part, place.path, size, late, replace, limit_s=LONG_S)
        return parse_checksum(said)

    async def _receive_content(
        self, request: Request, running: RunningScript, turn: WriterTurn
    ) -> tuple[dict[str, Any], bytes]:
        """Receive the content; return the client's last message and the script's output.

        However it ends, the script writes nothing after that.
        """
        have = await running.line()
        ended = asyncio.create_task(running.rest())
        try:
            if not have.isdigit():
                await self._raise_script_error(running, ended)
            last = await self._receive_frames(request, int(have), running, ended, turn)
            said = await asyncio.wait_for(asyncio.shield(ended), LONG_S)
            await self._scripts.finish(running)
            return last, said
        except TimeoutError as error:
            raise FileRefusal("too_slow", "The checksum takes too long.") from error
        finally:
            running.program.close_input()
            await asyncio.wait({ended}, timeout=SHORT_S)
            ended.cancel()
            await self._scripts.end(self._instance, running)

    async def _receive_frames(
        self, request: Request, have: int, running: RunningScript, ended: "asyncio.Task[bytes]", turn: WriterTurn
    ) -> dict[str, Any]:
        """Receive everything that the client sends of the file, and report now and then how much was written."""
        size, told = request.number("size", None), have
        await self._outlet.say(**request.tag, offset=have)
        over = asyncio.create_task(turn.over.wait())
        try:
            while True:
                frame = await self._next(running, ended, over)
                if isinstance(frame, str):
                    words = parse_json_object(frame)
                    if "cancel" in words:
                        raise Cancelled("cancelled", "The upload was cancelled; nothing of it was kept.")
                    if "eof" in words:
                        running.program.close_input()
                        return words
                    continue
                if have + len(frame) > size:
                    raise FileRefusal("too_long", "More has come than the file's size.")
                await self._write_to_script(running, ended, frame)
                have += len(frame)
                if have - told >= REPORT_EVERY_BYTES or have == size:
                    told = have
                    await self._outlet.say(**request.tag, got=have)
        finally:
            over.cancel()

    async def _write_to_script(self, running: RunningScript, ended: "asyncio.Task[bytes]", frame: bytes) -> None:
        """Write to the script's input, unless the script ends meanwhile."""
        giving = asyncio.create_task(running.program.give(frame))
        await asyncio.wait({giving, ended}, return_when=asyncio.FIRST_COMPLETED)
        if ended.done() or not await giving:
            giving.cancel()
            await self._raise_script_error(running, ended)

    async def _next(self, running: RunningScript, ended: "asyncio.Task[bytes]", over: "asyncio.Task[Any]") -> Frame:
        """Return the client's next frame.

        Raises:
            FileRefusal: The script has ended, or another client now writes this file.
            StreamLost: The client is gone.
        """
        coming = asyncio.create_task(self.inbox.next())
        await asyncio.wait({coming, ended, over}, return_when=asyncio.FIRST_COMPLETED)
        if ended.done() or over.done():
            coming.cancel()
            if over.done():
                raise FileRefusal("taken_over", "Another upload of the same file goes on with it.")
            await self._raise_script_error(running, ended)
        frame = await coming
        if frame is None:
            raise StreamLost("the client left in the middle of a file")
        return frame

    async def _raise_script_error(self, running: RunningScript, ended: "asyncio.Task[bytes]") -> NoReturn:
        """Raise the reason for which the script ended early."""
        await asyncio.wait({ended}, timeout=SHORT_S)
        await self._scripts.finish(running)
        raise FileRefusal("failed", "The instance took no more of the file.")


class FileServer:
    """File access on one host. Everything here belongs to the streams' own thread."""

    def __init__(self, doorway: ExecInterface) -> None:
        self._scripts = ScriptRunner(doorway)
        self._clients: dict[str, int] = {}

    def crowded(self, instance: str) -> bool:
        return self._clients.get(instance, 0) >= AT_ONCE

    async def serve(self, instance: str, outlet: WebSocketStream, *, only: str | None = None) -> None:
        """Serve one client until it leaves; with `only` it may read that path and nothing else."""
        self._clients[instance] = self._clients.get(instance, 0) + 1
        session = _FileSession(self._scripts, instance, outlet, only)
        try:
            await session.run()
        except StreamLost:
            return
        finally:
            session.inbox.close()
            self._clients[instance] -= 1
            if not self._clients[instance]:
                del self._clients[instance]
