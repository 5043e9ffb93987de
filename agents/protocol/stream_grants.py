"""Grants to enter one instance, signed so that the relay, which carries them, cannot make any.

A grant is `base64url(JSON).base64url(HMAC-SHA-256)` under the host's `slip_key`. The agent verifies it before it
touches a container: the agent must be told to run the instance, the grant must not be expired, and a one-use grant
not used before.
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
FILES: Final = "files"  # its files: list, read, write, move and remove
READ: Final = "read"  # read one file or folder
WRITE: Final = "write"  # write one file, or unpack an archive into one folder


class BadGrant(Exception):
    """The grant is malformed, forged or out of date."""


@dataclass(frozen=True)
class Grant:
    """Permission to enter an instance until `expires_at` (Unix seconds by the control plane's clock)."""

    id: str  # new for each grant
    instance: str  # uuid, 32 hex digits
    kind: str  # PORT, EXEC, FILES, READ or WRITE
    expires_at: int
    port: int = 0
    once: bool = True
    session: str = ""  # id of a terminal session that survives a broken connection
    path: str = ""  # for READ and WRITE: an absolute path, its bytes percent-encoded as in a URL


def open_grant(key: str, text: str, *, now: float) -> Grant:
    """Verify and decode the grant in `text`, signed under `key` (hex).

    Raises:
        BadGrant: The grant is malformed, forged or expired.
    """
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
