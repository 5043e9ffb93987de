"""Payloads of wake-ups (slips).

A host's agent receives what one instance should be, encrypted; the renter's scripts receive its state.
"""

import base64
import hashlib
import hmac
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from common.encryption import derived_key
from common.ids import public_id
from common.json import to_json
from instances.core.selectors import desired_row
from instances.models import Instance
from storage.states import ImageSource
from storage.volumes.selectors import MountRow, mounts_of

PURPOSE: Final = "berth-slip-v1"
_SEALED: Final = b"berth-slip-v2\n"
_NONCE: Final = 12


def early_order_key(host_id: UUID, agent_keys: int) -> bytes:
    """Return the key from which the keys for the host's slips and grants are derived.

    The relay, which carries them, does not know it. After a revocation of the agent's key, `agent_keys` has grown,
    and the revoked agent does not know the new one either.
    """
    return derived_key(PURPOSE, f"{host_id.hex}:{agent_keys}" if agent_keys else host_id.hex)


def change_payload(instance: Instance) -> str:
    """Return the message about a change of state for the renter's scripts.

    The relay delivers it only to those that may read instances.
    """
    return to_json({"instance": public_id("inst", instance.pk), "state": instance.state}).decode()


def early_order(instance: Instance, mounts: Sequence[MountRow] | None = None) -> str:
    """Return an encrypted order that says of this instance what a sync would, or "" where it must wait.

    It passes through Redis and the relay, and contains the password's hash and tokens of programs, so only the host
    can decrypt it. Reads offer and image, and mounts unless given. An image that needs a login, and launch settings,
    wait for a sync, since only a sync carries logins and secrets.
    """
    if instance.launch_id is not None:
        return ""
    if instance.image.private or (instance.image.digest and instance.image.source == "saved"):
        return ""
    mounts = mounts_of(instance.pk) if mounts is None else mounts
    row = desired_row(instance, mounts, image=instance.image.reference, simulated=instance.offer.simulated)
    untouched = instance.image.source == ImageSource.OFFICIAL and not instance.has_own_root
    row = replace(row, has_ssh=instance.image.has_ssh, image_bytes=instance.image.size_bytes, untouched=untouched)
    body = to_json({**vars(row), "id": row.id.hex, "mounts": [vars(mount) for mount in row.mounts]})
    cipher = AESGCM(hmac.digest(early_order_key(instance.host_id, instance.host.agent_keys), _SEALED, hashlib.sha256))
    nonce = os.urandom(_NONCE)
    return base64.urlsafe_b64encode(nonce + cipher.encrypt(nonce, body, _SEALED)).rstrip(b"=").decode()
