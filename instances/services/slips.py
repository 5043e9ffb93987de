"""Slips: what a wake-up itself carries. For an agent, sealed, what one instance should be; for its renter, what it is."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from common.digest import derived_key
from common.ids import public_id
from common.json import to_json
from instances.models import Instance
from instances.selectors import desired_row
from storage.selectors.volumes import MountRow, mounts_of

PURPOSE = "berth-slip-v1"


def slip_key(host_id: UUID) -> bytes:
    """Under which the host's slips are sealed: the relay, which carries them, does not know it."""
    return derived_key(PURPOSE, host_id.hex)


def write_news(instance: Instance) -> str:
    """What the renter's scripts hear of a move; the relay tells only those that may read instances."""
    return to_json({"instance": public_id("inst", instance.pk), "state": instance.state}).decode()


def write_slip(instance: Instance, mounts: Sequence[MountRow] | None = None) -> str:
    """The seal, then what the host is told of this instance, as a sync would tell it. Reads offer and image, and what is
    mounted unless that is known.

    "" for an image that needs a login: a slip passes through Redis and the relay, which may read it.
    """
    if instance.image.private or (instance.image.digest and instance.image.source == "saved"):
        return ""
    mounts = mounts_of(instance.pk) if mounts is None else mounts
    row = desired_row(instance, mounts, image=instance.image.reference, simulated=instance.offer.simulated)
    row = replace(row, has_ssh=instance.image.has_ssh, image_bytes=instance.image.size_bytes)
    body = to_json({**vars(row), "id": row.id.hex, "mounts": [vars(mount) for mount in row.mounts]})
    return hmac.new(slip_key(instance.host_id), body, hashlib.sha256).hexdigest() + body.decode()
