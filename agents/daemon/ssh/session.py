"""One SSH session in a container: a command, a shell or a subsystem, with or without a terminal."""

import asyncio
import logging
import os
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, AnyStr, Final, Protocol

import asyncssh
from asyncssh.sftp import run_sftp_server
from asyncssh.stream import SSHReader, SSHServerStreamSession, SSHWriter

from agents.daemon.engine.exec_interface import ExecInterface, Terminal
from agents.daemon.engine.exec_stream import ERR, OUT, PIECE, Program, open_in_thread
from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.daemon.ssh.sftp import ContainerFiles
from agents.daemon.ssh.sftp_listing import ShellWorker

logger = logging.getLogger(__name__)

SESSION_VARIABLE: Final = "BERTH_SSH"  # identifies the session's first process
NOT_BEGUN: Final = 255  # ssh's own exit status for a failed connection
SIZE: Final = (80, 24)
LARGEST: Final = 1000
VARIABLES_AT_MOST: Final = 64
VARIABLE_LENGTH: Final = 4096
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIGNALS: Final = re.compile("ABRT|ALRM|FPE|HUP|ILL|INT|KILL|PIPE|QUIT|SEGV|TERM|USR1|USR2")

# What sshd does before the renter's command: home, the instance's variables, the window's size, root's shell.
LOGIN_SCRIPT: Final = """
cd "${HOME:-/}" 2>/dev/null || cd /
if [ -r /run/berth/env ]; then set -a; . /run/berth/env; set +a; fi
LANG="${LANG:-C.UTF-8}"; USER=root; LOGNAME=root; SHELL=$(command -v bash || command -v sh)
export LANG USER LOGNAME SHELL
if [ -n "$BERTH_SIZE" ]; then
  stty $BERTH_SIZE 2>/dev/null
  SSH_TTY=$(tty 2>/dev/null) && export SSH_TTY
  unset BERTH_SIZE
fi
if [ $# -eq 0 ]; then exec "$SHELL" -l; fi
exec "$SHELL" -c "$1"
"""
FIND_SFTP: Final = """
for each in /usr/lib/openssh /usr/lib/ssh /usr/libexec/openssh /usr/libexec; do
  if [ -x "$each/sftp-server" ]; then echo "$each/sftp-server"; exit; fi
done
command -v sftp-server
"""
# Programs that the engine starts have no parent inside, and lead their own process groups.
SIGNAL_SCRIPT: Final = f"""
for folder in /proc/[0-9]*; do
  parent=
  while read -r key value; do [ "$key" = PPid: ] && parent=$value; done 2>/dev/null <"$folder/status"
  [ "$parent" = 0 ] || continue
  session=$(tr '\\0' '\\n' 2>/dev/null <"$folder/environ" | sed -n 's/^{SESSION_VARIABLE}=//p')
  [ -n "$session" ] || continue
  case " $KEEP " in *" $session "*) continue ;; esac
  if [ -n "$ONLY" ] && [ "$ONLY" != "$session" ]; then continue; fi
  kill -s "$SIGNAL" -- "-${{folder#/proc/}}" 2>/dev/null
done
"""

Spawn = Callable[[Coroutine[Any, Any, None]], None]


class TerminalExec(ExecInterface, Protocol):
    """Exec interface that can also start any program with a terminal."""

    def screen(self, instance: str, words: Sequence[str], env: Mapping[str, str]) -> Terminal:
        """Start a program with a terminal; otherwise like `command`."""


class TerminalProgram(Program):
    """A program with a terminal, whose output has no frames."""

    def __init__(self, terminal: Terminal, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        super().__init__(terminal, reader, writer)
        self._terminal = terminal

    @classmethod
    async def show(
        cls, exec_interface: TerminalExec, instance: str, words: Sequence[str], env: Mapping[str, str]
    ) -> "TerminalProgram":
        terminal = await open_in_thread(exec_interface.screen, instance, words, env)
        terminal.connection.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=terminal.connection, limit=PIECE)
        if terminal.first:
            reader.feed_data(terminal.first)
        return cls(terminal, reader, writer)

    async def piece(self) -> tuple[int, bytes]:
        try:
            return OUT, await self._reader.read(PIECE)
        except OSError:
            return OUT, b""

    def close_input(self) -> None:
        """Do nothing, since a terminal has no end of input."""

    async def resize(self, columns: int, rows: int) -> None:
        with suppress(EngineRefused, EngineSilent, OSError):
            await asyncio.to_thread(self._terminal.resize, columns, rows)


class SshSession(SSHServerStreamSession[bytes]):
    """One channel of a connection. `spawn` runs work that must outlive the connection."""

    def __init__(
        self, exec_interface: TerminalExec, instance: str, peer: tuple[str, int], spawn: Spawn, ended: Callable[[], None]
    ) -> None:
        super().__init__(self._serve)
        self._exec_interface = exec_interface
        self._instance = instance
        self._peer = peer
        self._spawn = spawn
        self._ended = ended
        self._name = os.urandom(12).hex()
        self._screen: TerminalProgram | None = None
        self._gone = asyncio.Event()

    # -- called by the connection

    def connection_made(self, chan: Any) -> None:
        super().connection_made(chan)
        chan._env = _LimitedVariables(chan._env)

    def subsystem_requested(self, subsystem: str) -> bool:
        return subsystem == "sftp"

    def session_started(self) -> None:
        """Start serving; the library's own method would serve SFTP from this machine's files."""
        assert self._chan is not None
        assert self._conn is not None
        stdin, stdout = SSHReader[bytes](self, self._chan), SSHWriter[bytes](self, self._chan)
        stderr = SSHWriter[bytes](self, self._chan, asyncssh.EXTENDED_DATA_STDERR)
        self._conn.create_task(self._serve(stdin, stdout, stderr))

    def terminal_size_changed(self, width: int, height: int, pixwidth: int, pixheight: int) -> None:
        if self._screen is not None:
            self._spawn(self._screen.resize(*_bounded(width, height)))

    def signal_received(self, signal: str) -> None:
        if _SIGNALS.fullmatch(signal):
            self._spawn(send_signal(self._exec_interface, self._instance, signal, only=self._name))

    def break_received(self, msec: int) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._gone.set()
        self._ended()

    # -- the session itself

    async def _serve(self, stdin: SSHReader[bytes], stdout: SSHWriter[bytes], stderr: SSHWriter[bytes]) -> None:
        code: int | None = NOT_BEGUN
        try:
            code = await self._run(stdin, stdout, stderr)
        except (EngineRefused, EngineSilent, OSError) as error:
            if not self._gone.is_set():
                stderr.write(f"{error or type(error).__name__}\r\n".encode())
        except Exception:  # an error in one session must not affect others
            logger.exception("a session of SSH broke off")
        if self._chan is not None and not self._gone.is_set():
            self._channel.exit(NOT_BEGUN if code is None else code)

    @property
    def _channel(self) -> Any:
        return self._chan

    async def _run(self, stdin: SSHReader[bytes], stdout: SSHWriter[bytes], stderr: SSHWriter[bytes]) -> int | None:
        if self._channel.get_subsystem():
            server = await script_output(self._exec_interface, self._instance, FIND_SFTP)
            if not server:
                return await self._serve_files()
            return await self._join(await self._start_program([server]), stdin, stdout, stderr)
        command = self._channel.get_command()
        words = ["/bin/sh", "-c", LOGIN_SCRIPT, "ssh", *([] if command is None else [command])]
        return await self._join(await self._start_program(words), stdin, stdout, stderr)

    async def _start_program(self, words: Sequence[str]) -> Program:
        env = self._environment()
        kind = self._channel.get_terminal_type()
        if kind is None:
            return await Program.start(self._exec_interface, self._instance, words, env)
        columns, rows = _bounded(*self._channel.get_terminal_size()[:2])
        env |= {"TERM": kind or "dumb", "BERTH_SIZE": f"rows {rows} cols {columns}"}
        self._screen = await TerminalProgram.show(self._exec_interface, self._instance, words, env)
        # The window may have changed meanwhile, and an image without stty was not told its size at all.
        self._spawn(self._screen.resize(*_bounded(*self._channel.get_terminal_size()[:2])))
        return self._screen

    def _environment(self) -> dict[str, str]:
        sent = self._channel.get_environment().items()
        kept = {key: value for key, value in sent if _VARIABLE.fullmatch(key)}
        peer = " ".join(map(str, self._peer))
        return {**kept, SESSION_VARIABLE: self._name, "SSH_CLIENT": f"{peer} 22", "SSH_CONNECTION": f"{peer} 127.0.0.1 22"}

    async def _join(
        self, program: Program, stdin: SSHReader[bytes], stdout: SSHWriter[bytes], stderr: SSHWriter[bytes]
    ) -> int | None:
        """Copy both ways until the program ends or the client leaves; then send SIGHUP to the program."""
        tasks = [asyncio.create_task(_feed(stdin, program)), asyncio.create_task(self._gone.wait())]
        showing = asyncio.create_task(_show(program, stdout, stderr))
        try:
            await asyncio.wait([showing, tasks[1]], return_when=asyncio.FIRST_COMPLETED)
            return await program.exit_code() if showing.done() and showing.result() else None
        finally:
            if not (showing.done() and not showing.cancelled() and showing.exception() is None and showing.result()):
                self._spawn(send_signal(self._exec_interface, self._instance, "HUP", only=self._name))
            for task in (*tasks, showing):
                task.cancel()
            program.close()

    async def _serve_files(self) -> int:
        """Serve SFTP for an image without a server, by shell commands in the container."""
        async with ShellWorker(self._exec_interface, self._instance) as worker:
            files, stdout = ContainerFiles(self._channel, worker), _UnclosableWriter[bytes](self, self._channel)
            await run_sftp_server(files, _BackpressureReader(self, self._channel, stdout), stdout, 3)
        return 0


class _LimitedVariables(dict[bytes, bytes]):
    """Variables that a client sends, limited in number and length, since the library keeps them all."""

    def __setitem__(self, key: bytes, value: bytes) -> None:
        if len(self) < VARIABLES_AT_MOST and len(key) + len(value) <= VARIABLE_LENGTH:
            super().__setitem__(key, value)


class _BackpressureReader(SSHReader[bytes]):
    """Reader that accepts no further request while the client does not read the answers."""

    def __init__(self, session: SSHServerStreamSession[bytes], channel: Any, answers: SSHWriter[bytes]) -> None:
        super().__init__(session, channel)
        self._answers = answers

    async def readexactly(self, n: int) -> bytes:
        await self._answers.drain()
        return await super().readexactly(n)


class _UnclosableWriter(SSHWriter[AnyStr]):
    """Writer that ignores the library's final close, which would come before the exit status is sent."""

    def close(self) -> None:
        return None


async def _feed(stdin: SSHReader[bytes], program: Program) -> None:
    with suppress(OSError):
        while piece := await stdin.read(PIECE):
            if not await program.write(piece):
                return
        program.close_input()


async def _show(program: Program, stdout: SSHWriter[bytes], stderr: SSHWriter[bytes]) -> bool:
    """Copy the program's output to the client; return False if the client left before its end."""
    try:
        while (found := await program.piece())[1]:
            writer = stderr if found[0] == ERR else stdout
            writer.write(found[1])
            await writer.drain()
    except OSError:
        return False
    return True


async def script_output(
    exec_interface: ExecInterface, instance: str, script: str, env: Mapping[str, str] | None = None
) -> str:
    """Return the output of a short script in the container."""
    program = await Program.start(exec_interface, instance, ["/bin/sh", "-c", script], env or {})
    found = b""
    try:
        program.close_input()
        while (piece := await program.piece())[1]:
            found += piece[1] if piece[0] == OUT else b""
    finally:
        program.close()
    return found.decode(errors="replace").strip()


async def send_signal(
    exec_interface: ExecInterface, instance: str, signal: str, *, only: str = "", keep: Sequence[str] = ()
) -> None:
    """Signal the process group of one session, or of all but those to keep, as far as they still run."""
    with suppress(EngineRefused, EngineSilent, OSError):
        await script_output(
            exec_interface, instance, SIGNAL_SCRIPT, {"SIGNAL": signal, "ONLY": only, "KEEP": " ".join(keep)}
        )


def _bounded(columns: int, rows: int) -> tuple[int, int]:
    if 0 < columns <= LARGEST and 0 < rows <= LARGEST:
        return columns, rows
    return SIZE
