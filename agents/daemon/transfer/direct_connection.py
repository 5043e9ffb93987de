"""Direct connection of two hosts: the target listens on a port of the instance, the source dials.

Both have the key of this one transfer. Each connection derives its own key from that and from a random number of
each side, and only messages encrypted with it are accepted, so no one else is heard. If this fails, the relay is
used.
"""

import hashlib
import hmac
import ipaddress
import os
import queue
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from agents.daemon.control_plane.port_check import open_server
from agents.daemon.transfer.transfer_protocol import Channel, ConnectionLost, EncryptedChannel
from agents.protocol.public_addresses import is_public

LARGEST: Final = 1024 * 1024 + 64
DIAL_S: Final = 3.0
PROVE_S: Final = 10.0  # seconds for a caller to prove that it has the key
LARGEST_PROOF: Final = 256  # bytes of a message until then
MOST_CALLERS: Final = 4  # callers that have not proven it yet
_NONCE: Final = 16
_LENGTH: Final = struct.Struct(">I")
_PURPOSE: Final = b"berth direct line"
_HELLO: Final = b"hello"


class ClosableChannel(Channel, Protocol):
    """A connection that either side may close."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class OpenConnection:
    """A connection to the other host, and its encrypted channel."""

    line: ClosableChannel
    sealed: EncryptedChannel
    direct: bool = False


class SocketChannel:
    """Messages over a TCP connection, each preceded by its length. Raises OSError."""

    def __init__(self, connection: socket.socket, largest: int = LARGEST) -> None:
        self._socket = connection
        self.largest = largest

    def send(self, message: bytes) -> None:
        self._socket.settimeout(600.0)
        self._socket.sendall(_LENGTH.pack(len(message)) + message)

    def recv(self, timeout: float = 60.0) -> bytes:
        """Return the whole message; the timeout covers all of it, however slowly it arrives."""
        end = time.monotonic() + timeout
        head = self._exactly(_LENGTH.size, end)
        if not head:
            return b""
        (length,) = _LENGTH.unpack(head)
        if length > self.largest:
            raise ConnectionLost("the other host sent more than a message has")
        return self._exactly(length, end)

    def close(self) -> None:
        self.shut_down()
        self._socket.close()

    def shut_down(self) -> None:
        """Shut the connection down: threads that read or write it fail at once, and then close it."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _exactly(self, count: int, end: float) -> bytes:
        """Read `count` bytes; empty if the other side has closed."""
        got = bytearray()
        while len(got) < count:
            left = end - time.monotonic()
            if left <= 0:
                raise ConnectionLost("the other host sent too slowly")
            self._socket.settimeout(left)
            piece = self._socket.recv(count - len(got))
            if not piece:
                return b""
            got += piece
        return bytes(got)


def dial(address: str, port: int, key: bytes, *, private: bool) -> OpenConnection:
    """Connect to the target and prove the key.

    Raises:
        OSError: Nobody answers there, or not the target, or the address is private and `private` is False.
    """
    known = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)
    allowed = [one for one in known if private or is_public(ipaddress.ip_address(one[4][0]))]
    if not allowed:
        raise ConnectionLost("the other host has no address that this one may dial")
    family, kind, protocol, _, place = allowed[0]
    connection = socket.socket(family, kind, protocol)
    try:
        connection.settimeout(DIAL_S)
        connection.connect(place)
        line, own = SocketChannel(connection, LARGEST_PROOF), os.urandom(_NONCE)
        line.send(own)
        other = line.recv(DIAL_S)
        if len(other) != _NONCE:
            raise ConnectionLost("what answered there is not the other host")
        sealed = EncryptedChannel(line, _key_of(key, own, other), is_source=True)
        sealed.send(_HELLO)
        if sealed.receive(DIAL_S) != _HELLO:
            raise ConnectionLost("what answered there is not the other host")
        line.largest = LARGEST
    except BaseException:
        connection.close()
        raise
    return OpenConnection(line, sealed, direct=True)


class Listener:
    """Accepts the source's connections on one port until it is closed; others are disconnected."""

    def __init__(self, place: str, port: int, key: bytes, accept: Callable[[OpenConnection], None]) -> None:
        self._key = key
        self._accept = accept
        self._lock = threading.Lock()
        self._proving: dict[SocketChannel, threading.Thread] = {}
        self._closed = False
        self._socket = open_server(place, port)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening and drop callers that have not proven the key; `accept` is not called afterwards."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # ends `accept`
        self._socket.close()
        with self._lock:
            self._closed, proving = True, dict(self._proving)
        for line in proving:
            line.shut_down()
        for thread in (self._thread, *proving.values()):
            if thread is not threading.current_thread():
                thread.join()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:  # closed
                return
            line = SocketChannel(connection, LARGEST_PROOF)
            thread = threading.Thread(target=self._authenticate, args=(line,), daemon=True)
            with self._lock:
                is_accepted = not self._closed and len(self._proving) < MOST_CALLERS
                if is_accepted:
                    self._proving[line] = thread
                    thread.start()
            if not is_accepted:
                line.close()

    def _authenticate(self, line: SocketChannel) -> None:
        try:
            sealed = self._authenticated_channel(line)
            if self._closed:
                line.close()
            else:
                self._accept(OpenConnection(line, sealed, direct=True))
        except OSError:
            line.close()
        finally:
            with self._lock:
                del self._proving[line]

    def _authenticated_channel(self, line: SocketChannel) -> EncryptedChannel:
        """Return the channel of a caller that has proven the key.

        Raises:
            OSError: The caller has not.
        """
        other, own = line.recv(PROVE_S), os.urandom(_NONCE)
        if len(other) != _NONCE:
            raise ConnectionLost("not the other host")
        line.send(own)
        sealed = EncryptedChannel(line, _key_of(self._key, other, own), is_source=False)
        if sealed.receive(PROVE_S) != _HELLO:
            raise ConnectionLost("not the other host")
        sealed.send(_HELLO)
        line.largest = LARGEST
        return sealed


class ConnectionRendezvous:
    """Where the target waits for the source: on its port and at the relay, whichever comes first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: queue.Queue[OpenConnection | OSError] | None = None
        self._next: OpenConnection | None = None
        self._now: OpenConnection | None = None

    def called(self, opened: OpenConnection) -> None:
        """Use a new direct connection: the caller has the key, so the present connection has broken.

        This host may not have noticed that yet.
        """
        with self._lock:
            if self._waiting is not None:
                self._waiting.put(opened)
                self._waiting = None
                return
            broken, self._next = (self._next, self._now), opened
        for old in broken:
            if old is not None:
                old.line.close()

    def wait(self, by_relay: Callable[[], OpenConnection]) -> OpenConnection:
        """Return the next connection.

        Raises:
            OSError: Neither came while the relay waited.
        """
        came: queue.Queue[OpenConnection | OSError] = queue.Queue()
        with self._lock:
            self._now, self._next = self._next, None
            if self._now is not None:
                return self._now
            self._waiting = came
        threading.Thread(target=self._connect_by_relay, args=(by_relay, came), daemon=True).start()
        found = came.get()
        with self._lock:
            self._waiting = None
            if isinstance(found, OSError):
                raise found
            self._now = found
        return found

    def _connect_by_relay(
        self, by_relay: Callable[[], OpenConnection], came: "queue.Queue[OpenConnection | OSError]"
    ) -> None:
        try:
            opened = by_relay()
        except OSError as error:
            came.put(error)
            return
        with self._lock:
            if self._waiting is came:
                self._waiting = None
                came.put(opened)
                return
        opened.line.close()  # a direct connection came first


def _key_of(key: bytes, source: bytes, target: bytes) -> bytes:
    return hmac.digest(key, _PURPOSE + source + target, hashlib.sha256)
