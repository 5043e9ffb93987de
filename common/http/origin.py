"""Where the present request comes from: who writes down what was done needs it, and is called far below the request."""

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
    """`credential` names the session or token by which it was asked (accounts.selectors.access), "" outside requests."""

    address: str = ""
    agent: str = ""
    credential: str = ""
    via: str = ""  # for people: "console", or "token" and its public prefix


NOWHERE: Final = Origin()
_origin: ContextVar[Origin] = ContextVar("origin", default=NOWHERE)


def origin() -> Origin:
    return _origin.get()


@contextmanager
def asked_by(request: HttpRequest) -> Iterator[None]:
    """For as long as this request is worked on."""
    agent = request.META.get("HTTP_USER_AGENT", "")
    printable = "".join(character for character in agent if character.isprintable())
    token = _origin.set(Origin(address=address_of(request), agent=printable[:_AGENT_CHARS]))
    try:
        yield
    finally:
        _origin.reset(token)


def note_credential(credential: str, *, via: str) -> None:
    """By what the present request has proven who asks."""
    _origin.set(replace(_origin.get(), credential=credential, via=via))


def network_of(address: str) -> str:
    """What one party has: an address of IPv4, a /64 of IPv6, as allauth's limits take it; "" stays."""
    if ":" not in address:
        return address
    return str(ipaddress.ip_network(f"{address}/{_PREFIX}", strict=False).network_address)


def page_named(request: HttpRequest, header: str) -> SplitResult:
    """The address of a page that the browser names in this header; nothing where that is no address."""
    try:
        return urlsplit(request.headers.get(header, ""))
    except ValueError:
        return urlsplit("")


def address_of(request: HttpRequest) -> str:
    """The client's address, as our own proxies name it; "" where there is none (a Unix socket, a test)."""
    # REST framework's reading of X-Forwarded-For by NUM_PROXIES, so that all limits count the same address.
    text = str(BaseThrottle().get_ident(request) or "")  # type: ignore[arg-type]  # reads META alone
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""
