"""Shell commands on a container's files; nothing here touches a path of the host.

One shell in the container runs small scripts one after the other; larger files get programs of their own.
"""

import asyncio
import base64
import binascii
import os
from typing import Final

from agents.daemon.engine.exec_interface import ExecInterface
from agents.daemon.engine.exec_stream import OUT, Program

OUTPUT_AT_MOST: Final = 16 * 1024 * 1024
ENV: Final = {"LC_ALL": "C"}
# A path is passed as octal digits, since an argument cannot hold every name.
_PATH: Final = 'p=$(printf "%b." "$1"); p=${p%.}; '
# `dd` moves the file offset from which `cat` continues.
READ: Final = _PATH + '{ if [ "$2" != 0 ]; then dd bs=1 skip="$2" count=0 2>/dev/null; fi; exec cat; } <"$p"'
WRITE: Final = _PATH + '{ if [ "$2" != 0 ]; then dd bs=1 seek="$2" count=0 conv=notrunc 2>/dev/null; fi; exec cat; } 1<>"$p"'


class ContainerCommandFailed(OSError):
    """An operation failed in the container; the text is the container's own."""


def quoted(path: bytes) -> bytes:
    """Quote a path for a script."""
    return b"'" + path.replace(b"'", b"'\\''") + b"'"


def encode_path(path: bytes) -> str:
    """Encode a path for an argument, to be decoded by `printf %b`."""
    return "".join(f"\\0{byte:03o}" for byte in path)


class ShellWorker:
    """A shell in the container that runs scripts one after the other."""

    def __init__(self, exec_interface: ExecInterface, instance: str) -> None:
        self._exec_interface = exec_interface
        self._instance = instance
        self._program: Program | None = None
        self._lock = asyncio.Lock()
        self.home = b"/"

    async def __aenter__(self) -> "ShellWorker":
        self._program = await Program.start(self._exec_interface, self._instance, ["/bin/sh"], ENV)
        self.home = (await self.run(b'cd "${HOME:-/}" 2>/dev/null || cd /; printf %s "$PWD"')) or b"/"
        return self

    async def __aexit__(self, *_error: object) -> None:
        if self._program is not None:
            self._program.close_input()
            self._program.close()

    async def run(self, script: bytes) -> bytes:
        """Run a script and return its output.

        Raises:
            ContainerCommandFailed: It failed; the text is the end of its output.
        """
        async with self._lock:
            mark = os.urandom(16).hex().encode()
            line = b"( " + script + b"\n) </dev/null 2>&1; printf '\\n%s %d\\n' " + mark + b" $?\n"
            if self._program is None or not await self._program.write(line):
                raise ContainerCommandFailed("the shell in the container has ended")
            return await self._answer(self._program, b"\n" + mark + b" ")

    async def _answer(self, program: Program, mark: bytes) -> bytes:
        received = bytearray()
        while not (received.endswith(b"\n") and received.rfind(mark, max(0, len(received) - len(mark) - 8)) >= 0):
            kind, piece = await program.piece()
            if not piece or len(received) > OUTPUT_AT_MOST:
                self._program = None
                program.close()
                end = received[-200:].decode(errors="replace")
                raise ContainerCommandFailed(end or "the shell in the container has ended")
            if kind == OUT:
                received += piece
        text, _, code = bytes(received).rpartition(mark)
        if int(code):
            raise ContainerCommandFailed(text.decode(errors="replace").strip()[-300:] or f"failed with code {int(code)}")
        return text

    async def read_small(self, path: bytes, at_most: int) -> bytes:
        """Return the start of a file, at most `at_most` bytes."""
        text = b"".join((await self.run(b"head -c %d <%s | base64" % (at_most, quoted(path)))).split())
        try:
            return base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise ContainerCommandFailed("the file cannot be read") from error

    async def write_small(self, path: bytes, offset: int, content: bytes) -> None:
        """Write into an existing file at an offset."""
        body = base64.encodebytes(content)
        seek = b"dd bs=1 seek=%d count=0 conv=notrunc 2>/dev/null; " % offset if offset else b""
        await self.run(b"{ %sbase64 -d <<'END'\n%sEND\n} 1<>%s" % (seek, body, quoted(path)))

    async def stream(self, script: str, path: bytes, offset: int) -> Program:
        """Start READ or WRITE as a program of its own."""
        words = ["/bin/sh", "-c", script, "sh", encode_path(path), str(offset)]
        return await Program.start(self._exec_interface, self._instance, words, ENV)
