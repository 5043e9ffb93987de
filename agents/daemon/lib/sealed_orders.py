"""Early orders (`slip` in the protocol): an instance's desired state, sent encrypted with a wake-up.

It passes through Redis and the relay, which cannot read it, and saves the sync by which the agent would have learnt
the same. An early order is base64url of a nonce of 12 bytes and of `DesiredInstance` as JSON under AES-256-GCM. The key is
derived from the `slip_key` of the host's last DesiredState. It holds the password's hash and the tokens of
the instance's programs, and only the control plane can have written it.
"""

import base64
import hashlib
import hmac
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from agents.protocol.codec import MalformedMessage, decode
from agents.protocol.messages import DesiredInstance

PURPOSE: Final = b"berth-slip-v2\n"
_NONCE: Final = 12


class BadEarlyOrder(Exception):
    """The early order is not encrypted with this key, or is malformed."""


def decrypt_early_order(key: str, slip: str) -> DesiredInstance:
    if not key:
        raise BadEarlyOrder("This host has no key for early orders.")
    try:
        sealed = base64.urlsafe_b64decode(slip + "=" * (-len(slip) % 4))
        return decode(DesiredInstance, _cipher(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], PURPOSE))
    except (ValueError, InvalidTag, MalformedMessage) as error:
        raise BadEarlyOrder(f"The early order cannot be read: {error or 'wrong key'}") from error


def _cipher(key: str) -> AESGCM:
    """Derive a separate key, since the same `slip_key` also signs grants."""
    return AESGCM(hmac.digest(bytes.fromhex(key), PURPOSE, hashlib.sha256))
