"""Reads of object-storage connections, syncs and their schedules."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from common.errors import NotFound
from storage.models import Connection, Operation, Sync, SyncSchedule
from storage.states import SyncCause, SyncState

# Kinds of operations that neither read nor change the contents of a disk.
_KINDS_BESIDE_DISKS = ("read_log", "save_image")
BATCH = 200


def connections_of(owner_id: UUID) -> QuerySet[Connection]:
    """Return the owner's connections by name."""
    return Connection.objects.filter(owner_id=owner_id)


def connection_of(owner_id: UUID, connection_id: UUID) -> Connection:
    """Return a connection of this owner; raise NotFound for any other, existing or not."""
    found = connections_of(owner_id).filter(pk=connection_id).first()
    if found is None:
        raise NotFound("This connection doesn't exist.")
    return found


def syncs_of(owner_id: UUID, subject_id: UUID | None = None) -> QuerySet[Sync]:
    """Return the owner's syncs, newest first, of all disks or of one."""
    own = Sync.objects.filter(owner_id=owner_id).select_related("operation", "host", "connection")
    return own if subject_id is None else own.filter(subject_id=subject_id)


def sync_of(owner_id: UUID, sync_id: UUID) -> Sync:
    """Return a sync of this owner; raise NotFound for any other, existing or not."""
    found = syncs_of(owner_id).filter(pk=sync_id).first()
    if found is None:
        raise NotFound("This sync doesn't exist.")
    return found


def schedules_of(owner_id: UUID) -> QuerySet[SyncSchedule]:
    """Return the owner's schedules, the next due first."""
    return SyncSchedule.objects.filter(owner_id=owner_id).select_related("connection")


def schedule_of(owner_id: UUID, schedule_id: UUID) -> SyncSchedule:
    """Return a schedule of this owner, or raise NotFound."""
    found = schedules_of(owner_id).filter(pk=schedule_id).first()
    if found is None:
        raise NotFound("This schedule doesn't exist.")
    return found


def running_syncs(subjects: Sequence[UUID]) -> dict[UUID, Sync]:
    """Return the running syncs by the id of their disk."""
    rows = Sync.objects.filter(subject_id__in=subjects, ended_at=None).select_related("operation", "connection")
    return {row.subject_id: row for row in rows}


def has_open_disk_operation(subject: UUID) -> bool:
    """Return whether the disk's host is working on its contents already."""
    return Operation.objects.filter(subject=subject, ended_at=None).exclude(kind__in=_KINDS_BESIDE_DISKS).exists()


def last_archive(instance_id: UUID) -> Sync | None:
    """Return the latest attempt to archive the instance's data disk."""
    return Sync.objects.filter(subject_id=instance_id, cause=SyncCause.ARCHIVE).order_by("-created_at").first()


def archive_failures(instance_id: UUID, *, since: datetime) -> int:
    """Return how many attempts to archive the instance's data disk have failed since then."""
    tries = Sync.objects.filter(subject_id=instance_id, cause=SyncCause.ARCHIVE, created_at__gte=since)
    return tries.filter(state=SyncState.FAILED).count()


# Reads for sweeps.


def schedules_due(now: datetime) -> list[UUID]:
    return list(SyncSchedule.objects.filter(next_at__lte=now).order_by("next_at").values_list("pk", flat=True)[:BATCH])


def syncs_to_mail() -> list[Sync]:
    rows = Sync.objects.filter(mailed_at=None).exclude(mail="").select_related("owner", "connection")
    return list(rows.order_by("created_at")[:BATCH])
