"""Test for publicly reachable addresses, stricter than `ipaddress.is_global`."""

import ipaddress
from typing import Final

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NOT_PUBLIC: Final = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("0.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "224.0.0.0/3"),
        *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    )
)
_PUBLIC_V6: Final = ipaddress.IPv6Network("2000::/3")


def is_public(address: Address) -> bool:
    """Return whether the address is public.

    Refused are addresses of local networks and of carrier NAT (100.64/10), unique local, link-local and loopback
    addresses, and those of tunnels into such networks.
    """
    if isinstance(address, ipaddress.IPv6Address) and address not in _PUBLIC_V6:
        return False
    return address.is_global and not any(address in network for network in _NOT_PUBLIC if network.version == address.version)
