"""Reads of archives before deletion: where data goes, and whether a deletion waits for that."""

from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from instances.constants import ARCHIVE_TRIED
from instances.models import ArchiveDefault, Instance
from instances.models.archives import ArchiveChoice

if TYPE_CHECKING:
    from storage.models import Connection


def archive_default(renter_id: UUID) -> "Connection | None":
    found = ArchiveDefault.objects.filter(renter_id=renter_id).select_related("connection").first()
    return found.connection if found else None


def archive_place(instance: Instance) -> "Connection | None":
    """Return the connection that the data disk is archived to, or None."""
    if instance.archive_choice == ArchiveChoice.ON:
        return instance.archive_to
    return archive_default(instance.renter_id) if instance.archive_choice == ArchiveChoice.ACCOUNT else None


def archive_name(instance: Instance) -> str:
    """Return the name of that connection, or "" without a disk to archive or a place for it."""
    place = archive_place(instance) if is_archive_wanted(instance) else None
    return place.name if place else ""


def is_archived(instance: Instance) -> bool:
    """Return whether the data disk is archived as it was at the last stop."""
    since = instance.stopped_at or instance.created_at
    return instance.archived_at is not None and instance.archived_at >= since


def is_archive_wanted(instance: Instance) -> bool:
    """Return whether there is a disk to archive, a place for it, and no archive yet."""
    has_disk = bool(instance.data_disk_gb) and instance.started_at is not None
    return has_disk and not is_archived(instance) and archive_place(instance) is not None


def is_archive_awaited(instance: Instance, now: datetime) -> bool:
    """Return whether the deletion, which is due now, waits for the archive."""
    due = instance.release_at
    return due is not None and now < due + ARCHIVE_TRIED and is_archive_wanted(instance)
