"""Interface for streams into containers: a connection to a port, a terminal, and a program."""

import socket
import threading
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from agents.daemon.engine.interface import EngineRefused

SIMULATED_GREETING: Final = (
    "This instance is SIMULATED: there is no container behind this terminal.\r\n"
    "What you type is only echoed; `exit` ends it.\r\n"
)
_PROMPT: Final = b"\r\nsimulated:~# "


class Terminal(Protocol):
    """A shell with a terminal. Bytes go through `connection`, which ends when the shell does."""

    @property
    def connection(self) -> socket.socket: ...

    @property
    def first(self) -> bytes:
        """Return the bytes that had already arrived when it was opened."""

    def resize(self, columns: int, rows: int) -> None: ...

    def exit_code(self) -> int | None: ...


class Command(Protocol):
    """A program without a terminal.

    Bytes sent on `connection` are its input, which ends when that direction is shut down. The output comes in the
    engine's frames: a byte that is 1 for output and 2 for errors, three zeros, four bytes of length, the data.
    """

    @property
    def connection(self) -> socket.socket: ...

    @property
    def first(self) -> bytes:
        """Return the bytes that had already arrived when it was started."""

    def exit_code(self) -> int | None:
        """Return the exit code, None while it runs."""


class ExecInterface(Protocol):
    """Access to running containers. Calls may block, and raise EngineRefused, EngineSilent or OSError."""

    def connect(self, instance: str, port: int) -> socket.socket:
        """Open a TCP connection to a port inside the instance."""

    def terminal(self, instance: str, session: str, size: tuple[int, int]) -> Terminal:
        """Start a shell in the instance's running container."""

    def command(self, instance: str, words: Sequence[str], env: Mapping[str, str]) -> Command:
        """Start a program in the running container as root, with these arguments and without a shell."""

    def hang_up(self, instance: str, keep: Sequence[str]) -> None:
        """Send SIGHUP to the shells of all terminals but these sessions."""

    def close(self) -> None: ...


class SimulatedExec:
    """Simulated access: ports that answer with HTTP 503, and terminals that echo."""

    def connect(self, instance: str, port: int) -> socket.socket:
        near, far = socket.socketpair()
        body = f"Simulated instance: nothing listens on port {port}.\n"
        head = f"HTTP/1.1 503 Simulated\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close"
        reply = f"{head}\r\n\r\n{body}".encode()
        threading.Thread(target=_answer, args=(far, reply), name="simulated", daemon=True).start()
        return near

    def terminal(self, instance: str, session: str, size: tuple[int, int]) -> Terminal:
        return _Echo()

    def command(self, instance: str, words: Sequence[str], env: Mapping[str, str]) -> Command:
        raise EngineRefused("This instance is simulated and has no container to run programs in.")

    def hang_up(self, instance: str, keep: Sequence[str]) -> None:
        return None

    def close(self) -> None:
        return None


class _Echo:
    """A terminal in which nothing runs."""

    first = SIMULATED_GREETING.encode() + _PROMPT

    def __init__(self) -> None:
        self.connection, self._far = socket.socketpair()
        threading.Thread(target=self._run, name="echo", daemon=True).start()

    def resize(self, columns: int, rows: int) -> None:
        return None

    def exit_code(self) -> int | None:
        return 0

    def _run(self) -> None:
        line = b""
        with self._far:
            while piece := self._far.recv(4096):
                for byte in piece:
                    typed = bytes([byte])
                    if typed not in b"\r\n":
                        line += typed
                        self._far.sendall(typed)
                        continue
                    if line.strip() == b"exit":
                        return
                    line = b""
                    self._far.sendall(_PROMPT)


def _answer(far: socket.socket, reply: bytes) -> None:
    with far:
        if far.recv(65536):
            far.sendall(reply)
