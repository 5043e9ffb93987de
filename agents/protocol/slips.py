"""Slips: one instance's desired state, carried by a wake-up and sealed, so that only the control plane can have written it.

It saves the exchange in which the agent would have learnt the same. A slip is `<seal><DesiredInstance as JSON>`; the seal is
the HMAC-SHA-256 of the JSON, in 64 hex digits, under the `slip_key` that the host's last DesiredState brought.
"""

import hashlib
import hmac

from agents.protocol.codec import MalformedMessage, decode
from agents.protocol.messages import DesiredInstance

_SEAL = 64


class BadSlip(Exception):
    """The slip is not sealed with this key, or is none."""


def open_slip(key: str, slip: str) -> DesiredInstance:
    seal, body = slip[:_SEAL], slip[_SEAL:].encode()
    try:
        true_seal = hmac.new(bytes.fromhex(key), body, hashlib.sha256).hexdigest()
        if not key or not hmac.compare_digest(seal.encode(), true_seal.encode()):
            raise BadSlip("The slip's seal does not match.")
        return decode(DesiredInstance, body)
    except (ValueError, MalformedMessage) as error:
        raise BadSlip(f"The slip cannot be read: {error}") from error
