"""HTTP over the standard library, which is there at once: importing another client takes longer than most requests."""

import contextlib
import http.client
import os
import select
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Final
from urllib.parse import SplitResult, urlsplit

from berth._core.calls import Fault, Reply, Request

CONNECT_TIMEOUT_S: Final = 5.0
MOST_IDLE: Final = 8
MOST_BYTES: Final = 64 * 1024 * 1024
_PIECE: Final = 256 * 1024


class StandardTransport:
    """Connections that are kept between requests. One object serves many threads."""

    def __init__(self) -> None:
        self._idle: defaultdict[str, list[http.client.HTTPConnection]] = defaultdict(list)
        self._lock = threading.Lock()

    def send(self, request: Request) -> Reply | Fault:
        ends = time.monotonic() + request.timeout
        parts = urlsplit(request.url)
        origin = f"{parts.scheme}://{parts.netloc}"
        try:
            connection = self._take(origin) or connect_to(parts, min(CONNECT_TIMEOUT_S, request.timeout))
        except (OSError, http.client.HTTPException) as error:
            return Fault(
                f"{parts.netloc} can't be reached: {_reason(error)}", sent=False, timed_out=isinstance(error, TimeoutError)
            )
        try:
            with _cut_at(connection, ends):
                reply = _converse(connection, request, parts, ends)
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            if time.monotonic() >= ends:
                return Fault(f"{parts.netloc} didn't answer within {request.timeout:.0f} s.", sent=True, timed_out=True)
            return Fault(f"The connection to {parts.netloc} was lost: {_reason(error)}", sent=True)
        self._give_back(origin, connection)
        return reply

    def close(self) -> None:
        with self._lock:
            for connection in [each for kept in self._idle.values() for each in kept]:
                connection.close()
            self._idle.clear()

    def _take(self, origin: str) -> http.client.HTTPConnection | None:
        with self._lock:
            while self._idle[origin]:
                connection = self._idle[origin].pop()
                if connection.sock is not None and not select.select([connection.sock], [], [], 0)[0]:
                    return connection
                connection.close()  # the other side has closed it meanwhile
        return None

    def _give_back(self, origin: str, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if connection.sock is not None and len(self._idle[origin]) < MOST_IDLE:
                self._idle[origin].append(connection)
            else:
                connection.close()


def connect_to(parts: SplitResult, timeout: float) -> http.client.HTTPConnection:
    """Return an open connection to the host of an address, through the environment's proxy if it names one."""
    host, is_tls = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if is_tls else 80)
    proxy = _proxy_for(parts)
    kind = http.client.HTTPSConnection if is_tls else http.client.HTTPConnection
    if proxy is None:
        connection = kind(host, port, timeout=timeout)
    else:
        connection = kind(proxy.hostname or "", proxy.port or 8080, timeout=timeout)
        connection.set_tunnel(host, port)
    connection.connect()
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _proxy_for(parts: SplitResult) -> SplitResult | None:
    """Return the proxy that the environment names for this address."""
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies, proxy_bypass

    address = getproxies().get(parts.scheme)
    return None if address is None or proxy_bypass(parts.hostname or "") else urlsplit(address)


@contextlib.contextmanager
def _cut_at(connection: http.client.HTTPConnection, ends: float) -> Iterator[None]:
    """Cut the connection when the time is up, however slowly the other side sends."""
    sock = connection.sock

    def cut() -> None:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, ends - time.monotonic()), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _converse(connection: http.client.HTTPConnection, request: Request, parts: SplitResult, ends: float) -> Reply:
    connection.sock.settimeout(max(0.001, ends - time.monotonic()))
    target = parts.path + (f"?{parts.query}" if parts.query else "") or "/"
    connection.request(request.method, target, body=request.body, headers=dict(request.headers))
    response = connection.getresponse()
    pieces, size = [], 0
    while piece := response.read(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > MOST_BYTES:
            raise http.client.HTTPException(f"the answer has more than {MOST_BYTES} bytes")
    if response.length:  # a body that ends before the length that was promised
        raise http.client.IncompleteRead(b"".join(pieces), response.length)
    if response.will_close:
        connection.close()
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Reply(response.status, headers, b"".join(pieces))


def _reason(error: Exception) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return "the answer ended too early"
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
