"""Grants: leave to enter one instance, sealed by the control plane, so that the relay that carries them can make none.

A grant is `base64url(JSON).base64url(HMAC-SHA-256)` under the host's `slip_key`. The agent opens it before it touches a
container: the instance must be one that it should run, the time not over, and a one-use grant not used before.
"""

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from agents.protocol.codec import MalformedMessage, decode

PURPOSE: Final = b"berth-grant-v1\n"
PORT: Final = "port"  # a TCP connection to a port inside the instance
EXEC: Final = "exec"  # a terminal inside the instance
FILES: Final = "files"  # its files: to list, read, write, move and remove
READ: Final = "read"  # one file or folder of it, to read


class BadGrant(Exception):
    """The grant is malformed, forged or out of date."""


@dataclass(frozen=True)
class Grant:
    """What may be entered and until when (Unix seconds by the control plane's clock)."""

    id: str  # new for each grant
    instance: str  # uuid, 32 hex digits
    kind: str  # PORT, EXEC, FILES or READ
    expires_at: int
    port: int = 0
    once: bool = True
    session: str = ""  # a terminal that is found again after its connection broke
    path: str = ""  # of READ: absolute, its bytes percent-encoded as in an address


def open_grant(key: str, text: str, *, now: float) -> Grant:
    """The grant in `text`, sealed under `key` (hex). Raises BadGrant."""
    try:
        head, tail = text.split(".")
        body, seal = _unb64(head), _unb64(tail)
        if not key or not hmac.compare_digest(seal, hmac.digest(bytes.fromhex(key), PURPOSE + body, hashlib.sha256)):
            raise BadGrant("forged")
        grant = decode(Grant, body)
    except (ValueError, MalformedMessage) as error:
        raise BadGrant("malformed") from error
    if now >= grant.expires_at:
        raise BadGrant("expired")
    return grant


def _unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
