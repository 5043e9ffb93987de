"""Identifiers: time-ordered UUIDs inside, prefixed strings such as `inst_0190…` outside."""

import os
import time
import uuid

from common.errors import NotFound


def new_uuid() -> uuid.UUID:
    """Return a UUID of version 7 (RFC 9562).

    48 bits of Unix milliseconds, then random bits, so indexes grow at one end.
    """
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return uuid.UUID(int=value)


_HEX_DIGITS = 32


def public_id(prefix: str, key: uuid.UUID) -> str:
    return f"{prefix}_{key.hex}"


def parse_public_id(prefix: str, text: str) -> uuid.UUID:
    """Return the UUID in a public id.

    Raises:
        NotFound: the text is not such an id, so nothing can have it.
    """
    head, _, tail = text.partition("_")
    if head != prefix or len(tail) != _HEX_DIGITS:
        raise NotFound(f"There is no {prefix} with the id {text!r}.")
    try:
        return uuid.UUID(hex=tail)
    except ValueError as error:
        raise NotFound(f"There is no {prefix} with the id {text!r}.") from error
