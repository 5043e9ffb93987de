"""Receipt of files and archives over a stream; a program in the container writes what comes."""

import asyncio
import hashlib
from typing import Any, Final, NoReturn

from agents.daemon.control_plane.websocket import Frame, StreamLost, WebSocketStream
from agents.daemon.files import shell_scripts
from agents.daemon.files.protocol import ContainerPath, FileRefusal, Request, parse_checksum
from agents.daemon.files.script_runner import (
    LONG_S,
    SHORT_S,
    RunningScript,
    ScriptRunner,
    WriterLock,
    checksum_limit_s,
)
from agents.protocol.codec import parse_json_object

FRAMES_AHEAD: Final = 2
REPORT_EVERY_BYTES: Final = 512 * 1024


class Cancelled(FileRefusal):
    """The client cancelled its upload."""


class FrameQueue:
    """Incoming frames of a client, read a few ahead of the work. None means its end, and `ended` is set then."""

    def __init__(self, websocket: WebSocketStream) -> None:
        self._websocket = websocket
        self.ended = asyncio.Event()
        self._frames: asyncio.Queue[Frame | None] = asyncio.Queue(FRAMES_AHEAD)
        self._pump = asyncio.create_task(self._run())

    async def next(self) -> Frame | None:
        return await self._frames.get()

    def close(self) -> None:
        self._pump.cancel()

    async def _run(self) -> None:
        try:
            async for frame in self._websocket:
                await self._frames.put(frame)
        finally:
            self.ended.set()
        await self._frames.put(None)


class FileReceiver:
    """Uploads of one client."""

    def __init__(self, scripts: ScriptRunner, instance: str, websocket: WebSocketStream, inbox: FrameQueue) -> None:
        self._scripts, self._instance, self._websocket, self._inbox = scripts, instance, websocket, inbox

    async def write(self, request: Request) -> None:
        """Receive a file; resume where an earlier attempt with the same `key` broke off.

        The file gets its name only once it is complete.
        """
        place, size = request.place().named(), request.number("size", None)
        key = hashlib.sha256(b"\0".join([place.name, str(size).encode(), request.text("key").encode()])).hexdigest()[:16]
        part = place.unfinished(key)
        lock = await self._scripts.acquire_lock(self._instance, part)
        try:
            reply = await self._receive_file(request, place, part, lock)
        finally:
            self._scripts.release_lock(self._instance, part, lock)
        await self._websocket.send_json(**request.tag, ok=True, sha256=reply)

    async def unpack(self, request: Request) -> None:
        """Unpack a tar into a folder as it comes; what has come before an error stays."""
        parents = "1" if request.flag("make_folders") else "0"
        running = await self._scripts.start(self._instance, shell_scripts.UNPACK, request.place().path, parents)
        try:
            await self._receive_content(request, running, WriterLock())
        finally:
            running.program.close()
        await self._websocket.send_json(**request.tag, ok=True)

    async def _receive_file(self, request: Request, place: ContainerPath, part: bytes, lock: WriterLock) -> str:
        size, sha256, replace = request.number("size", None), request.sha256(), "1" if request.flag("replace") else "0"
        parents = "1" if request.flag("make_folders") else "0"
        folder = place.folder or b"/"
        running = await self._scripts.start(
            self._instance, shell_scripts.WRITE, folder, part, place.path, str(size), replace, parents
        )
        try:
            last = await self._receive_content(request, running, lock)
        except Cancelled:
            await self._scripts.run(self._instance, shell_scripts.REMOVE, part)
            raise
        finally:
            running.program.close()
        sha256 = sha256 or request.sha256(last)
        running = await self._scripts.start(
            self._instance, shell_scripts.FINISH, part, place.path, str(size), sha256, replace
        )
        return parse_checksum(await self._finish(running, lock, checksum_limit_s(size)))

    async def _finish(self, running: RunningScript, lock: WriterLock, limit_s: float) -> bytes:
        """Return the output of the script that checks a file and gives it its name.

        Raises:
            FileRefusal: It refuses or takes too long, or another client now writes this file.
        """
        output = await self._scripts.output_unless(self._instance, running, limit_s=limit_s, over=lock.over)
        if output is None:
            raise _taken_over()
        return output

    async def _receive_content(self, request: Request, running: RunningScript, lock: WriterLock) -> dict[str, Any]:
        """Receive the content and return the client's last message.

        However it ends, the script writes nothing after that.
        """
        have = await running.line()
        ended = asyncio.create_task(running.rest())
        try:
            if not have.isdigit():
                await self._raise_script_error(running, ended)
            last = await self._receive_frames(request, int(have), running, ended, lock)
            await asyncio.wait_for(asyncio.shield(ended), LONG_S)
            await self._scripts.finish(running)
            return last
        except TimeoutError as error:
            raise FileRefusal("too_slow", "The disk is too slow.") from error
        finally:
            running.program.close_input()
            await asyncio.wait({ended}, timeout=SHORT_S)
            ended.cancel()
            await self._scripts.end(self._instance, running)

    async def _receive_frames(
        self, request: Request, have: int, running: RunningScript, ended: "asyncio.Task[bytes]", lock: WriterLock
    ) -> dict[str, Any]:
        """Receive everything that the client sends of the file, and report now and then how much was written."""
        size, reported = request.number("size", None), have
        await self._websocket.send_json(**request.tag, offset=have)
        over = asyncio.create_task(lock.over.wait())
        try:
            while True:
                frame = await self._next(running, ended, over)
                if isinstance(frame, str):
                    words = parse_json_object(frame)
                    if "cancel" in words:
                        raise Cancelled("cancelled", "The upload was cancelled and discarded.")
                    if "eof" in words:
                        running.program.close_input()
                        return words
                    continue
                if have + len(frame) > size:
                    raise FileRefusal("too_long", "More data arrived than the file's size.")
                await self._write_to_script(running, ended, frame)
                have += len(frame)
                if have - reported >= REPORT_EVERY_BYTES or have == size:
                    reported = have
                    await self._websocket.send_json(**request.tag, got=have)
        finally:
            over.cancel()

    async def _write_to_script(self, running: RunningScript, ended: "asyncio.Task[bytes]", frame: bytes) -> None:
        """Write to the script's input, unless the script ends meanwhile."""
        giving = asyncio.create_task(running.program.write(frame))
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
        coming = asyncio.create_task(self._inbox.next())
        await asyncio.wait({coming, ended, over}, return_when=asyncio.FIRST_COMPLETED)
        if ended.done() or over.done():
            coming.cancel()
            if over.done():
                raise _taken_over()
            await self._raise_script_error(running, ended)
        frame = await coming
        if frame is None:
            raise StreamLost("the client left in the middle of a file")
        return frame

    async def _raise_script_error(self, running: RunningScript, ended: "asyncio.Task[bytes]") -> NoReturn:
        """Raise the reason for which the script ended early."""
        await asyncio.wait({ended}, timeout=SHORT_S)
        await self._scripts.finish(running)
        raise FileRefusal("failed", "The instance stopped accepting data.")


def _taken_over() -> FileRefusal:
    return FileRefusal("taken_over", "Another upload of the same file has taken over.")
