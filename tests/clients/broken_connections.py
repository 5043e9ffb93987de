"""A way to a server on which connections break off, or are answered by somebody on the way."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

_ALL: Final = 2**60


@dataclass(frozen=True)
class Trouble:
    """What becomes of one connection: how many bytes pass each way, or the status that it is answered with instead.

    After so many bytes it breaks off, or with `holds` once the way is cut.
    """

    sent: int = _ALL
    told: int = _ALL
    status: int = 0
    holds: bool = False


@dataclass
class Way:
    """A port that leads to another one; `troubles` are for the next connections. `requests` are the first lines seen, and
    `sent` the bytes of bodies on their way there."""

    target: int
    port: int = 0
    troubles: list[Trouble] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    sent: int = 0
    _open: set[socket.socket] = field(default_factory=set)
    _is_cut: threading.Event = field(default_factory=threading.Event)

    def cut(self) -> None:
        """Break off all connections of now."""
        self._is_cut.set()
        for client in list(self._open):
            _end(client)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def serve(self, server: socket.socket) -> None:
        with suppress(OSError):  # the listening socket's end is this thread's end
            while True:
                client, _ = server.accept()
                threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        trouble = self.troubles.pop(0) if self.troubles else Trouble()
        with self._held(client), suppress(OSError):
            head = client.recv(65536)
            self.requests.append(head.partition(b"\r\n")[0].decode())
            if trouble.status:
                client.sendall(f"HTTP/1.1 {trouble.status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
                return
            with socket.create_connection(("127.0.0.1", self.target)) as server:
                back = threading.Thread(target=self._pass_on, args=(server, client, trouble.told), daemon=True)
                back.start()
                server.sendall(head[: trouble.sent])
                self._pass_on(client, server, trouble.sent - len(head), holds=trouble.holds, counts=True)
                back.join()

    def _pass_on(
        self, source: socket.socket, target: socket.socket, left: int, *, holds: bool = False, counts: bool = False
    ) -> None:
        """Pass on at most so many bytes, then end both."""
        with suppress(OSError):
            while left > 0 and (piece := source.recv(min(65536, left))):
                self.sent += len(piece) if counts else 0
                target.sendall(piece)
                left -= len(piece)
        if holds:
            self._is_cut.wait(60)
        _end(source)
        _end(target)

    @contextmanager
    def _held(self, client: socket.socket) -> Iterator[None]:
        self._open.add(client)
        with client:
            yield
        self._open.discard(client)


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


@contextmanager
def way_to(port: int) -> Iterator[Way]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        way = Way(port, server.getsockname()[1])
        thread = threading.Thread(target=way.serve, args=(server,), daemon=True)
        thread.start()
        yield way
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)
