"""Open files of a container: small ones through its shell, large ones through a program of their own."""

import asyncio
from typing import Final

from agents.daemon.engine.exec_stream import ERR, Program
from agents.daemon.ssh.sftp_listing import READ, WRITE, ContainerCommandFailed, ShellWorker, quoted

SMALL: Final = 128 * 1024
PART: Final = 256 * 1024  # a client may request gigabytes at once; a shorter answer is allowed
COMPLAINT: Final = 300


class OpenFile:
    """An open file; consecutive writes are buffered, and large ones stream to a program. Raises ContainerCommandFailed."""

    def __init__(self, worker: ShellWorker, path: bytes, *, append: bool = False) -> None:
        self.path = path
        self._worker = worker
        self._append = append
        self._lock = asyncio.Lock()
        self._whole: bytes | None = None  # content of a small file that is being read
        self._reading: Program | None = None
        self._read_at = 0  # offset that the program has reached
        self._ahead = bytearray()  # read, but not requested yet
        self._writing: Program | None = None
        self._written_at = 0
        self._kept = bytearray()  # written, but not in the file yet
        self._kept_at = 0

    async def read(self, offset: int, size: int) -> bytes:
        """Return up to `size` bytes; only an empty result means the end of the file."""
        async with self._lock:
            await self._flush()
            size = min(size, PART)
            if self._whole is None and self._reading is None and offset == 0:
                first = await self._worker.read_small(self.path, SMALL + 1)
                self._whole = first if len(first) <= SMALL else None
            if self._whole is not None:
                return self._whole[offset : offset + size]
            return await self._read_on(offset, size)

    async def write(self, offset: int, content: bytes) -> None:
        async with self._lock:
            self._reset_reading()
            if self._append:
                await self._flush()
                offset = int(await self._worker.run(b"stat -L -c %s " + quoted(self.path)))
            if self._writing is not None and self._written_at == offset:
                await self._write_on(content)
                return
            if self._writing is None and self._kept and self._kept_at + len(self._kept) == offset:
                self._kept += content
            else:
                await self._flush()
                self._kept, self._kept_at = bytearray(content), offset
            if len(self._kept) > SMALL:
                first, self._kept = bytes(self._kept), bytearray()
                self._writing, self._written_at = await self._worker.stream(WRITE, self.path, self._kept_at), self._kept_at
                await self._write_on(first)

    async def settle(self) -> None:
        """Flush: write everything that is buffered to the file."""
        async with self._lock:
            await self._flush()

    async def close(self) -> None:
        async with self._lock:
            self._reset_reading()
            await self._flush()

    async def _read_on(self, offset: int, size: int) -> bytes:
        if self._reading is None or self._read_at != offset:
            self._reset_reading()
            self._reading, self._read_at = await self._worker.stream(READ, self.path, offset), offset
        complaint = b""
        while len(self._ahead) < size:
            kind, piece = await self._reading.piece()
            if not piece:
                break
            if kind == ERR:
                complaint += piece
            else:
                self._ahead += piece
        if complaint and not self._ahead:
            raise ContainerCommandFailed(_error_text(complaint))
        found = bytes(self._ahead[:size])
        del self._ahead[:size]
        self._read_at += len(found)
        return found

    def _reset_reading(self) -> None:
        """Forget what was read, since it may have changed."""
        self._whole = None
        if self._reading is not None:
            self._reading.close()
        self._reading = None
        self._ahead.clear()

    async def _write_on(self, content: bytes) -> None:
        if self._writing is None or not await self._writing.write(content):
            await self._flush()
            raise ContainerCommandFailed("The container stopped accepting data.")
        self._written_at += len(content)

    async def _flush(self) -> None:
        if self._writing is not None:
            program, self._writing = self._writing, None
            await finish(program)
        elif self._kept:
            content, self._kept = bytes(self._kept), bytearray()
            await self._worker.write_small(self.path, self._kept_at, content)


async def finish(program: Program) -> None:
    """Close the program's input and wait for its end.

    Raises:
        ContainerCommandFailed: It failed; the text is its error output.
    """
    program.close_input()
    complaint = b""
    while (found := await program.piece())[1]:
        complaint = (complaint + found[1])[-4 * COMPLAINT :]
    code = await program.exit_code()
    program.close()
    if code != 0:
        raise ContainerCommandFailed(_error_text(complaint) or "The container did not accept the data.")


def _error_text(complaint: bytes) -> str:
    return complaint.decode(errors="replace").strip()[-COMPLAINT:]
