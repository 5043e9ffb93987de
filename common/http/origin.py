"""Origin of the present request, for code far below the request that records what was done."""

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import SplitResult, urlsplit

from django.http import HttpRequest
from rest_framework.throttling import BaseThrottle

_AGENT_CHARS: Final = 200
_PREFIX: Final = 64


@dataclass(frozen=True)
class Origin:
    """Origin of a request.

    `credential` names its session or token (`accounts.selectors`); it is empty outside requests.
    """

    address: str = ""
    agent: str = ""
    credential: str = ""
    via: str = ""  # for display: "console", or "token" and its public prefix


NOWHERE: Final = Origin()
_origin: ContextVar[Origin] = ContextVar("origin", default=NOWHERE)


def origin() -> Origin:
    return _origin.get()


@contextmanager
def request_origin(request: HttpRequest) -> Iterator[None]:
    """Set the origin while this request is processed."""
    agent = request.META.get("HTTP_USER_AGENT", "")
    printable = "".join(character for character in agent if character.isprintable())
    token = _origin.set(Origin(address=address_of(request), agent=printable[:_AGENT_CHARS]))
    try:
        yield
    finally:
        _origin.reset(token)


def record_credential(credential: str, *, via: str) -> None:
    """Record the credential that has authenticated the present request."""
    _origin.set(replace(_origin.get(), credential=credential, via=via))


def network_of(address: str) -> str:
    """Return the network of one client: an IPv4 address, or a /64 of IPv6, as in allauth's limits.

    An empty text stays empty.
    """
    if ":" not in address:
        return address
    return str(ipaddress.ip_network(f"{address}/{_PREFIX}", strict=False).network_address)


def page_from_header(request: HttpRequest, header: str) -> SplitResult:
    """Return the URL of the page that the browser names in this header, or an empty one."""
    try:
        return urlsplit(request.headers.get(header, ""))
    except ValueError:
        return urlsplit("")


def address_of(request: HttpRequest) -> str:
    """Return the client's address as our own proxies report it; empty without one (a Unix socket, a test)."""
    # REST framework's reading of X-Forwarded-For by NUM_PROXIES, so that all limits count the same address.
    text = str(BaseThrottle().get_ident(request) or "")  # type: ignore[arg-type]  # reads META alone
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return ""
    # A socket for both families writes IPv4 clients as ::ffff:…, which are not all one network.
    return str(getattr(address, "ipv4_mapped", None) or address)
