"""Volumes that their hosts do not find: not charged, and reported as an incident, until they are back."""

from datetime import datetime
from typing import Final
from uuid import UUID

from common import change_counters
from common.ids import public_id
from common.messages.message import About, Message
from marketplace.hosts.incidents import close_incident, open_incident
from storage.models import Volume
from storage.operations.metering import close_volume
from storage.volumes.lost_messages import Disk, DiskMissing
from storage.volumes.volumes import lock_volume

LOST: Final = "volume_missing"


def mark_volume_lost(volume_id: UUID, *, detail: Message | None, at: datetime) -> Volume:
    """Mark a volume as lost, close its meter and open an incident, once.

    Call it inside a use case; it locks the wallet, then the row.
    """
    close_volume(volume_id, at=at)
    volume = lock_volume(volume_id)
    if volume.lost_at is None:
        Volume.objects.filter(pk=volume_id).update(lost_at=at)
        open_incident(
            kind=LOST,
            subject=public_id("vol", volume_id),
            detail=About(name=volume.host.name, what=detail or DiskMissing(disk=Disk.VOLUME)),
        )
        change_counters.notify_change(f"user:{volume.owner_id.hex}")
    return volume


def mark_volume_found(volume_id: UUID) -> Volume:
    """Mark a lost volume as found, inside a use case; the sweep of storage opens its meter again."""
    volume = lock_volume(volume_id)
    if volume.lost_at is not None:
        Volume.objects.filter(pk=volume_id).update(lost_at=None)
        close_incident(kind=LOST, subject=public_id("vol", volume_id), closed_by="found again")
        change_counters.notify_change(f"user:{volume.owner_id.hex}")
    return volume
