"""Volumes that their hosts do not find: marked, noted for the operator, and not paid for until they are back."""

from datetime import datetime
from typing import Final
from uuid import UUID

from common import change_counters
from common.ids import public_id
from marketplace.hosts.incidents import close_incident, open_incident
from storage.models import Volume
from storage.operations.metering import close_volume
from storage.volumes.volumes import lock_volume

LOST: Final = "volume_missing"


def lose_volume(volume_id: UUID, *, detail: str, at: datetime) -> Volume:
    """End the volume's meter and note it, once. Inside a use case; takes the wallet, then the row."""
    close_volume(volume_id, at=at)
    volume = lock_volume(volume_id)
    if volume.lost_at is None:
        Volume.objects.filter(pk=volume_id).update(lost_at=at)
        open_incident(kind=LOST, subject=public_id("vol", volume_id), detail=f"{volume.host.name}: {detail}")
        change_counters.touch(f"user:{volume.owner_id.hex}")
    return volume


def find_volume(volume_id: UUID) -> Volume:
    """It is back; the sweep of storage meters it again. Inside a use case."""
    volume = lock_volume(volume_id)
    if volume.lost_at is not None:
        Volume.objects.filter(pk=volume_id).update(lost_at=None)
        close_incident(kind=LOST, subject=public_id("vol", volume_id), closed_by="found again")
        change_counters.touch(f"user:{volume.owner_id.hex}")
    return volume
