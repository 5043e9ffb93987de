"""Execution of the file scripts in containers: start, output, exit, and one writer per file."""

import asyncio
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from agents.daemon.engine.exec_interface import ExecInterface
from agents.daemon.engine.exec_stream import ERR, Program
from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.daemon.files import shell_scripts
from agents.daemon.files.protocol import FileRefusal, error_for

SHORT_S: Final = 30.0
LONG_S: Final = 900.0
SLOWEST_SUM: Final = 10_000_000  # bytes/s of a checksum: a busy disk, and little CPU time
REST_AT_MOST: Final = 4096  # bytes of a script's error output that are kept
OUTPUT_AT_MOST: Final = 4 * 1024 * 1024  # bytes: a long list of files
# Written by a script that stops reading its input, after the reason. The engine may hold back the end of the program
# until its input has been read, which nobody does any more.
OVER: Final = b"berth-over\n"
_FIRST_LINES: Final = 64 * 1024


def checksum_limit_s(size: int) -> float:
    """Return how long the checksum of a file may take."""
    return LONG_S + size / SLOWEST_SUM


@dataclass
class WriterLock:
    """Turn of one writer of an incomplete file; a newer writer takes over once this one has let go."""

    over: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)


class RunningScript:
    """A running script: its process id, its output and its error output."""

    def __init__(self, program: Program, token: str) -> None:
        self.program = program
        self.token = token
        self.pid = ""
        self.complaints = b""
        self.over = False
        self._held = b""

    async def out(self) -> bytes:
        """Return more of its output; empty at the end."""
        if self._held:
            held, self._held = self._held, b""
            return held
        while True:
            kind, piece = await self.program.piece()
            if kind != ERR or not piece:
                self.over = not piece
                return piece
            self.complaints = (self.complaints + piece)[-REST_AT_MOST:]
            if self.complaints.endswith(OVER):
                self.complaints = self.complaints.removesuffix(OVER)
                return b""

    async def line(self) -> bytes:
        """Return its next line without the line break; at the end of the output, what is left."""
        held = b""
        while b"\n" not in held and len(held) < _FIRST_LINES:
            piece = await self.out()
            if not piece:
                return held
            held += piece
        line, _, self._held = held.partition(b"\n")
        return line

    async def rest(self) -> bytes:
        """Return what is left of its output, as far as one of our scripts writes; a renter's shell may write without an end.

        More is read and thrown away, so that the program goes on.
        """
        output = bytearray()
        while piece := await self.out():
            output += piece[: OUTPUT_AT_MOST - len(output)]
        return bytes(output)


class ScriptRunner:
    """Scripts running in the containers of one host. Everything here belongs to the streams' own thread."""

    def __init__(self, exec_interface: ExecInterface) -> None:
        self._exec_interface = exec_interface
        self._locks: dict[tuple[str, bytes], WriterLock] = {}

    async def start(self, instance: str, script: str, *arguments: str | bytes) -> RunningScript:
        """Start a script, and return it once it has written its process id.

        Raises:
            FileRefusal: The image has no shell.
            EngineRefused: The engine refuses it, or the instance does not run.
            EngineSilent: The engine does not answer.
        """
        token = secrets.token_hex(8)
        words = [shell_scripts.encode_path(item) if isinstance(item, bytes) else item for item in arguments]
        env = {"LC_ALL": "C", shell_scripts.TOKEN_ENV: token}
        program = await Program.start(self._exec_interface, instance, ["/bin/sh", "-c", script, "sh", *words], env)
        running = RunningScript(program, token)
        try:
            line = await running.line()
        except asyncio.CancelledError:
            program.close()
            raise
        if not line.isdigit():
            program.close()
            raise FileRefusal("no_shell", "This image has no shell, so its files cannot be accessed.")
        running.pid = line.decode()
        return running

    async def run(self, instance: str, script: str, *arguments: str | bytes, limit_s: float = SHORT_S) -> bytes:
        """Run a script with a short output and return that output.

        Raises:
            FileRefusal: The script failed or took too long.
        """
        running = await self.start(instance, script, *arguments)
        running.program.close_input()
        return await self.output(instance, running, limit_s)

    async def output(self, instance: str, running: RunningScript, limit_s: float) -> bytes:
        """Return what is left of a script's output, once it has ended.

        Raises:
            FileRefusal: The script failed or took too long.
        """
        try:
            output = await asyncio.wait_for(running.rest(), limit_s)
        except TimeoutError as error:
            await self.end(instance, running)
            raise FileRefusal("too_slow", "This takes too long here; use the terminal instead.") from error
        finally:
            running.program.close()
        await self.finish(running)
        return output

    async def output_unless(
        self, instance: str, running: RunningScript, *, limit_s: float, over: asyncio.Event
    ) -> bytes | None:
        """Return what is left of a script's output; once `over` is set, end the script and return None.

        Raises:
            FileRefusal: The script failed or took too long.
        """
        running.program.close_input()
        ending = asyncio.create_task(self.output(instance, running, limit_s))
        waiting = asyncio.create_task(over.wait())
        try:
            await asyncio.wait({ending, waiting}, return_when=asyncio.FIRST_COMPLETED)
            return await ending if ending.done() else None
        finally:
            waiting.cancel()
            if not ending.done():
                ending.cancel()
                await self.end(instance, running)

    async def finish(self, running: RunningScript) -> None:
        """Wait for the script's exit code.

        Raises:
            FileRefusal: The script failed.
        """
        running.program.close()
        code = await running.program.exit_code()
        if code != 0:
            raise error_for(code, running.complaints)

    async def end(self, instance: str, running: RunningScript) -> None:
        """Kill the script, since the engine lets a program run on when nobody reads it."""
        running.program.close()
        if running.over:
            return
        with suppress(EngineRefused, EngineSilent, OSError):
            words = ["/bin/sh", "-c", shell_scripts.END, "sh", running.pid, running.token]
            ending = await Program.start(self._exec_interface, instance, words, {"LC_ALL": "C"})
            try:
                while (await ending.piece())[1]:
                    continue
            finally:
                ending.close()

    async def acquire_lock(self, instance: str, part: bytes) -> WriterLock:
        """Wait until any other writer of this incomplete file has stopped, and take the turn."""
        key = (instance, part)
        while before := self._locks.get(key):
            before.over.set()
            await before.done.wait()
        self._locks[key] = lock = WriterLock()
        return lock

    def release_lock(self, instance: str, part: bytes, lock: WriterLock) -> None:
        lock.done.set()
        if self._locks.get((instance, part)) is lock:
            del self._locks[instance, part]
