"""Verification of Stripe's webhook messages: an HMAC over time and raw body, by one of our secrets."""

import hashlib
import hmac
import re
from collections.abc import Sequence

TOLERANCE_S = 300
"""Largest age of a signature, or lead over our clock; Stripe signs each new attempt again."""

_SCHEME = "v1"


class BadSignature(Exception):
    """Raised for an invalid signature; `reason` is counted: `forged` or `stale`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def verify(*, body: bytes, header: str, secrets: Sequence[str], now_s: float) -> None:
    """Verify that one of the secrets made one of the header's signatures recently.

    Raises:
        BadSignature: none did.
    """
    signed_at, signatures = _parts(header)
    signed = f"{signed_at}.".encode() + body
    ours = [hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() for secret in secrets]
    if not any([hmac.compare_digest(own, shown) for own in ours for shown in signatures]):
        raise BadSignature("forged")
    if abs(now_s - signed_at) > TOLERANCE_S:
        raise BadSignature("stale")


def _parts(header: str) -> tuple[int, list[str]]:
    """Return the time and the relevant signatures of a header like `t=1700000000,v1=…,v1=…`."""
    pairs = [part.strip().partition("=") for part in header.split(",")]
    times = [value for name, _, value in pairs if name == "t"]
    if len(times) != 1 or not re.fullmatch("[0-9]{1,12}", times[0]):
        raise BadSignature("forged")
    return int(times[0]), [value for name, _, value in pairs if name == _SCHEME and value.isascii()]
