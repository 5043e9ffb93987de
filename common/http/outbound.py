"""Requests to user-supplied addresses: only public ones, pinned once resolved, never redirected.

Otherwise a webhook or registry at `http://169.254.169.254/` would make the market fetch its own cloud's secrets.
"""

import http.client
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Networks that the standard library's `is_global` accepts, or accepted in versions that are still in use.
_NOT_PUBLIC: Final = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("0.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "224.0.0.0/3"),
        # In IPv6 only 2000::/3 is public; it contains tunnels and examples, which stand for IPv4 addresses or
        # for nothing.
        *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
)
_PUBLIC_V6: Final = ipaddress.IPv6Network("2000::/3")
_PORTS_ALWAYS: Final = (80, 443)
_FIRST_HIGH_PORT: Final = 1024
_MOST_TRIED: Final = 3  # addresses of one name
_URL_MOST: Final = 500


class OutboundFault(Exception):
    """Raised when the request was not made, or got no complete response.

    `code` is stable; `detail` says why in English.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


@dataclass(frozen=True)
class Target:
    """Validated address that is not resolved yet."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def host_header(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == (443 if self.scheme == "https" else 80) else f"{name}:{self.port}"


@dataclass(frozen=True)
class OutboundResponse:
    """Response with at most `most_bytes` of the body; the rest is not read."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


def parse_target(url: str) -> Target:
    """Parse a plain http or https address.

    Raises:
        OutboundFault: it is none.
    """
    if not url.isascii() or any(not "!" <= char <= "~" for char in url) or "\\" in url or len(url) > _URL_MOST:
        raise OutboundFault("bad_address", "This is not a web address.")
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").rstrip(".")
    except ValueError as error:
        raise OutboundFault("bad_address", "This is not a web address.") from error
    if parts.scheme not in ("http", "https") or not host:
        raise OutboundFault("bad_address", "An address begins with https:// and names a host.")
    if parts.username is not None or parts.password is not None:
        raise OutboundFault("bad_address", "A URL can't contain a user name or password.")
    port = port or (443 if parts.scheme == "https" else 80)
    if port not in _PORTS_ALWAYS and port < _FIRST_HIGH_PORT:
        raise OutboundFault("bad_port", f"Port {port} is not for the web: use 80, 443 or one from {_FIRST_HIGH_PORT} on.")
    return Target(parts.scheme, host, port, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))


def resolve(target: Target) -> list[Address]:
    """Return the addresses of the target's name.

    Raises:
        OutboundFault: one of them is not allowed, since such a name may be an attack.
    """
    try:
        rows = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise OutboundFault("unresolved", f"The name {target.host} cannot be found.") from error
    found = list(dict.fromkeys(_address(str(row[4][0])) for row in rows))
    for address in found:
        if not is_allowed(address):
            raise OutboundFault("not_public", f"{target.host} leads to {address}, which is not a public address.")
    if target.scheme == "http" and not all(_is_opened(address) for address in found):
        raise OutboundFault("needs_https", "Addresses begin with https://: plain http can be read and changed on its way.")
    return found


def is_allowed(address: Address) -> bool:
    """Return whether the address is public, or in a network of OUTBOUND_ALLOWED_NETWORKS."""
    if _is_opened(address):
        return True
    if isinstance(address, ipaddress.IPv6Address) and address not in _PUBLIC_V6:
        return False
    return address.is_global and not any(address in network for network in _NOT_PUBLIC if network.version == address.version)


def send_request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes | None = None,
    timeout_s: float,
    most_bytes: int,
) -> OutboundResponse:
    """Make one request and return its response, whatever its status, within `timeout_s` in total.

    A slow other side cannot exceed the limit; only a slow name server can, and nothing is sent after it did.

    Raises:
        OutboundFault: there was no complete response.
    """
    target, deadline = parse_target(url), time.monotonic() + timeout_s
    addresses = resolve(target)
    connection = _Pinned(target, addresses, deadline)
    try:
        with _ended_after(connection, max(0.0, deadline - time.monotonic())) as clock:
            connection.request(method, target.path, body=body, headers={"Host": target.host_header, **headers})
            reply = connection.getresponse()
            read = reply.read(most_bytes)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _fault_of(error, cut=clock.rang, timeout_s=timeout_s) from error
    finally:
        connection.close()
    return OutboundResponse(reply.status, {name.lower(): value for name, value in reply.getheaders()}, read)


def _fault_of(error: Exception, *, cut: bool, timeout_s: float) -> OutboundFault:
    if cut or isinstance(error, TimeoutError):
        return OutboundFault("timeout", f"No whole answer within {timeout_s:g} s.")
    if isinstance(error, ssl.SSLError):
        return OutboundFault("tls", f"No trusted connection: {error.reason or 'TLS failed'}.")
    if isinstance(error, ConnectionRefusedError):
        return OutboundFault("refused", "Nothing listens there: the connection was refused.")
    return OutboundFault("broken", f"The connection broke: {type(error).__name__}.")


def _address(text: str) -> Address:
    return ipaddress.ip_address(text.partition("%")[0])


def _is_opened(address: Address) -> bool:
    networks = [ipaddress.ip_network(text) for text in settings.OUTBOUND_ALLOWED_NETWORKS]
    return any(address in network for network in networks if network.version == address.version)


class _Pinned(http.client.HTTPConnection):
    """Connection to the validated addresses; the name serves only for certificate and Host header."""

    def __init__(self, target: Target, addresses: list[Address], deadline: float) -> None:
        super().__init__(target.host, target.port)
        self._target = target
        self._addresses = addresses
        self._deadline = deadline

    def connect(self) -> None:
        """Connect before the deadline: a clock that rings earlier than the socket is known cannot cut it."""
        self.sock = plain = self._reach()
        plain.settimeout(self._left())
        if self._target.scheme == "https":
            self.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=self._target.host)
        self._left()

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _reach(self) -> socket.socket:
        tried = self._addresses[:_MOST_TRIED]
        for address in tried[:-1]:
            try:
                return socket.create_connection((str(address), self._target.port), timeout=self._left())
            except OSError:
                continue
        return socket.create_connection((str(tried[-1]), self._target.port), timeout=self._left())


@dataclass
class _Clock:
    """Flag that is set when the time was over before the response was complete."""

    rang: bool = False


@contextmanager
def _ended_after(connection: http.client.HTTPConnection, seconds: float) -> Iterator[_Clock]:
    """Cut the connection after this time: a socket's own timeout restarts with each byte."""
    clock = _Clock()

    def ring() -> None:
        clock.rang = True
        if (sock := connection.sock) is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it has ended by itself meanwhile

    timer = threading.Timer(seconds, ring)
    timer.daemon = True
    timer.start()
    try:
        yield clock
    finally:
        timer.cancel()
