"""Address at which renters reach this host; found at enrolment, and never one that is unreachable."""

import ipaddress
import socket
from typing import Final
from urllib.parse import urlsplit

from agents.protocol.public_addresses import Address, is_public

ANY: Final = ("", "0.0.0.0", "::")  # noqa: S104
_NOWHERE_PORT: Final = 9  # port for a datagram socket that sends nothing


def own_address(url: str, listen: str) -> str:
    """Return the address that this host uses towards the market; "" if renters could not reach it.

    "" means that the host is behind NAT. A market on a private network or on loopback is used from there, so that
    addresses of the same kind count. For a public market, addresses of local networks and of carrier NAT do not
    count, nor do link-local, unique local and loopback ones.
    """
    if listen not in ANY:
        return listen
    market = _resolved(url)
    for target in market:
        found = _towards(target)
        if found is not None and is_good_for(found, target):
            return str(found)
    return ""


def is_good_for(address: Address, market: Address) -> bool:
    """Return whether a client that can reach the market can reach a host at this address."""
    if address.is_loopback or market.is_loopback:
        return address.is_loopback and market.is_loopback
    if address.is_link_local or address.is_unspecified or address.is_multicast:
        return False
    return is_public(address) or not is_public(market)


def _resolved(url: str) -> list[Address]:
    name = urlsplit(url).hostname or "127.0.0.1"
    try:
        rows = socket.getaddrinfo(name, _NOWHERE_PORT, type=socket.SOCK_DGRAM)
    except OSError:
        return []
    found = dict.fromkeys(ipaddress.ip_address(str(row[4][0]).partition("%")[0]) for row in rows)
    return sorted(found, key=lambda address: address.version)  # more people reach IPv4 than IPv6


def _towards(target: Address) -> Address | None:
    family = socket.AF_INET6 if target.version == 6 else socket.AF_INET  # noqa: PLR2004 the protocol's number
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((str(target), _NOWHERE_PORT))  # sends nothing
        except OSError:
            return None
        return ipaddress.ip_address(str(probe.getsockname()[0]).partition("%")[0])
