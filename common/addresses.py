"""Validation of a host's address: a host name or an IP address and nothing else.

People paste it into a shell.
"""

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

from common.errors import InvalidInput, wrong_field

LONGEST: Final = 253
HIGHEST_PORT: Final = 65_535
_LABEL: Final = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
# What a column may hold: lower-case labels divided by dots, or an IPv6 address as `ipaddress` writes it. For
# PostgreSQL.
COLUMN_PATTERN: Final = rf"^((?=.{{1,{LONGEST}}}$){_LABEL}(\.{_LABEL})*|(?=[0-9a-f:]*:)[0-9a-f:]{{2,39}})$"
_NAME: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
# Where the last label is a number, programs read the whole as an IPv4 address, in forms such as 127.1 or 0x7f.1.
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LOOPBACK_NAME: Final = "localhost"


def parse_address(text: str, *, field: str = "address") -> str:
    """Return the address in its canonical form: lower case, ASCII form of the name, IPv6 without brackets.

    Private addresses are allowed: the market of a single laboratory uses them. Loopback is allowed only where the
    market itself is on it, as in the demo, since elsewhere it would lead renters to their own machines.

    Raises:
        InvalidInput: it is not such an address; the error names `field`.
    """
    found = _ip(text, field) if ":" in text or text.startswith("[") else _name(text, field)
    if _is_loopback(found) and not _is_loopback(urlsplit(settings.SITE_URL).hostname or ""):
        raise wrong_field(field, "A loopback address leads every renter to their own machine: give one that others reach.")
    return found


def displayable_address(text: str) -> str:
    """Return the canonical form of a stored address, or an empty text if it must not be shown."""
    try:
        return parse_address(text)
    except InvalidInput:
        return ""


def in_url(address: str) -> str:
    """Return the address as it is written in a URL."""
    return f"[{address}]" if ":" in address else address


def _name(text: str, field: str) -> str:
    try:
        name = text.encode("idna").decode("ascii").lower()
    except UnicodeError:
        name = ""
    if not name or len(name) > LONGEST or not _NAME.fullmatch(name):
        raise wrong_field(field, "An address is a host name (letters, digits, hyphens and dots) or an IP address.")
    return _ip(name, field) if _NUMBER.fullmatch(name.rpartition(".")[2]) else name


def _ip(text: str, field: str) -> str:
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        found = ipaddress.ip_address(inner)
    except ValueError as error:
        raise wrong_field(field, "This is neither a host name nor an IP address.") from error
    mapped = isinstance(found, ipaddress.IPv6Address) and (found.ipv4_mapped is not None or found.scope_id is not None)
    # The reserved networks contain 255.255.255.255 and the loopback address of IPv6.
    nowhere = found.is_multicast or found.is_unspecified or found.is_link_local
    if mapped or nowhere or (found.is_reserved and not found.is_loopback):
        raise wrong_field(field, "A host can't be reached at a multicast, link-local, mapped or reserved address.")
    return str(found)


def _is_loopback(address: str) -> bool:
    if address == _LOOPBACK_NAME or address.endswith(f".{_LOOPBACK_NAME}"):
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
