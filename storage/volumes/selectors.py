"""Reads of volumes, snapshots, public data sets, attachments and disk usage."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet

from common.db.prepared import Prepared
from common.errors import NotFound
from storage.constants import NAME_PATTERN, UNPAID_KEPT
from storage.models import Attachment, DataSet, DiskUse, Operation, Snapshot, Volume
from storage.operations.host_presence import has_reported, is_silent
from storage.states import OperationState, SnapshotState, VolumeState

BATCH = 200
_NO_DATA_SET = "This public data set doesn't exist; GET /datasets lists them."


@dataclass(frozen=True)
class EndingRow:
    """A volume or snapshot that nobody pays for, with the time of its deletion."""

    owner_id: UUID
    id: UUID
    kind: str
    name: str
    delete_at: datetime


@dataclass(frozen=True)
class FullVolume:
    """A volume that is nearly full, with the instance that it is attached to."""

    holder: UUID
    volume: Volume
    use: DiskUse


@dataclass(frozen=True)
class MountRow:
    """One mount of an instance as its agent reads it; see the protocol's Mount."""

    id: str
    kind: str
    name: str
    size_gb: int = 0


# Reads for owners.


def volumes_of(owner_id: UUID) -> QuerySet[Volume]:
    """Return the owner's volumes with their hosts, newest first, without deleted ones."""
    return Volume.objects.filter(owner_id=owner_id).exclude(state=VolumeState.GONE).select_related("host", "snapshot")


def volume_of(owner_id: UUID, volume_id: UUID) -> Volume:
    """Return a volume of this owner; raise NotFound for any other, existing or not."""
    volume = volumes_of(owner_id).filter(pk=volume_id).first()
    if volume is None:
        raise NotFound("This volume doesn't exist.")
    return volume


def snapshots_of(owner_id: UUID) -> QuerySet[Snapshot]:
    """Return the owner's snapshots with their hosts, newest first, without deleted ones."""
    own = Snapshot.objects.filter(owner_id=owner_id).exclude(state=SnapshotState.GONE)
    return own.select_related("host", "data_set")


def snapshot_of(owner_id: UUID, snapshot_id: UUID) -> Snapshot:
    """Return a snapshot of this owner; raise NotFound for any other, existing or not."""
    snapshot = snapshots_of(owner_id).filter(pk=snapshot_id).first()
    if snapshot is None:
        raise NotFound("This snapshot doesn't exist.")
    return snapshot


def any_volume_with_host(volume_id: UUID) -> Volume:
    """Return any user's volume with its host, or raise NotFound.

    Everyone who knows the id may search the market for GPUs on the volume's host.
    """
    volume = Volume.objects.filter(pk=volume_id).exclude(state=VolumeState.GONE).select_related("host").first()
    if volume is None:
        raise NotFound("This volume doesn't exist.")
    return volume


# Public data sets.


def data_sets() -> QuerySet[DataSet]:
    """Return the public data sets that can be mounted."""
    return DataSet.objects.filter(active=True).select_related("snapshot__host")


def data_set_named(slug: str) -> DataSet:
    """Return a listed public data set, or raise NotFound."""
    found = any_data_set(slug)
    if not found.active:
        raise NotFound(_NO_DATA_SET)
    return found


def any_data_set(slug: str) -> DataSet:
    """Return a public data set, even if it was withdrawn, or raise NotFound."""
    named = DataSet.objects.filter(slug=slug) if re.fullmatch(NAME_PATTERN, slug) else DataSet.objects.none()
    found = named.select_related("snapshot__host").first()
    if found is None:
        raise NotFound(_NO_DATA_SET)
    return found


# Attachments.


def _attached(**which: object) -> QuerySet[Attachment]:
    rows = Attachment.objects.filter(detached_at__isnull=True, **which)
    return rows.select_related("volume", "data_set").order_by("pk")


_MOUNTS_ON_HOST = Prepared(lambda host_id: _attached(host_id=host_id), host_id=UUID)
_MOUNTS_OF = Prepared(lambda holder: _attached(holder=holder), holder=UUID)


def mounts_on_host(host_id: UUID) -> dict[UUID, list[MountRow]]:
    """Return the mounts of all instances on a host, by instance id."""
    found: dict[UUID, list[MountRow]] = {}
    for row in _MOUNTS_ON_HOST.all(host_id=host_id):
        found.setdefault(row.holder, []).append(_mount(row))
    return found


def mounts_of(holder: UUID) -> list[MountRow]:
    """Return the mounts of one instance; each order runs this query."""
    return [_mount(row) for row in _MOUNTS_OF.all(holder=holder)]


def attachments_of(holders: Sequence[UUID]) -> list[Attachment]:
    """Return the present attachments of these instances, with volumes and data sets."""
    return list(_attached(holder__in=holders).select_related("data_set__snapshot"))


def holders_of(volume_ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """Map each attached volume to its instance."""
    rows = Attachment.objects.filter(volume_id__in=volume_ids, detached_at__isnull=True)
    return {volume: holder for volume, holder in rows.values_list("volume_id", "holder") if volume is not None}


def _mount(row: Attachment) -> MountRow:
    if row.volume is not None:
        return MountRow(row.volume.pk.hex, "volume", row.volume.name, row.volume.size_gb)
    assert row.data_set is not None  # a constraint guarantees one of the two
    return MountRow(row.data_set.snapshot_id.hex, "public", row.data_set.slug)


# Disk usage and running operations.


def disk_uses(subjects: Sequence[UUID]) -> dict[UUID, DiskUse]:
    return {row.subject: row for row in DiskUse.objects.filter(subject__in=subjects)}


def open_operations(subjects: Sequence[UUID]) -> dict[UUID, Operation]:
    """Return the oldest open operation of each subject.

    A snapshot's operation has the copied disk as its subject.
    """
    rows = Operation.objects.filter(subject__in=subjects, ended_at=None).order_by("-created_at")
    return {row.subject: row for row in rows}


def is_being_restored(holder: UUID) -> bool:
    """Return whether the data disk or an attached volume of the instance is being restored."""
    restoring = Operation.objects.filter(subject=holder, kind="restore_disk", ended_at=None)
    volumes = Attachment.objects.filter(holder=holder, detached_at=None, volume__state=VolumeState.RESTORING)
    return restoring.exists() or volumes.exists()


def hosts_of_storage(ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """Map each of these volumes and snapshots to its present or last host."""
    volumes = Volume.objects.filter(pk__in=ids).order_by().values_list("pk", "host_id")
    snapshots = Snapshot.objects.filter(pk__in=ids).order_by().values_list("pk", "host_id")
    return dict([*volumes, *snapshots])


def volume_ids_on_host(host_id: UUID, ids: Sequence[UUID]) -> set[UUID]:
    """Return those of the ids that are volumes of this host."""
    return set(Volume.objects.filter(host_id=host_id, pk__in=ids).order_by().values_list("pk", flat=True))


def lost_volumes_among(host_id: UUID, ids: Sequence[UUID]) -> dict[UUID, datetime | None]:
    """Map volumes of the host to the time since which they are lost, or None.

    Volumes that are being made, moved or deleted are left out.
    """
    kept = [VolumeState.READY, VolumeState.RESTORING, VolumeState.COPYING]
    rows = Volume.objects.filter(host_id=host_id, pk__in=ids, state__in=kept).order_by()
    return dict(rows.values_list("pk", "lost_at"))


def restorable_volumes(volume_ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """Map each volume to its newest restorable snapshot on the volume's own host."""
    ready = Snapshot.objects.filter(state=SnapshotState.READY, source_id__in=volume_ids).order_by("created_at", "pk")
    hosts = dict(Volume.objects.filter(pk__in=volume_ids).values_list("pk", "host_id"))
    return {source: pk for pk, source, host in ready.values_list("pk", "source_id", "host_id") if hosts[source] == host}


# Reads for sweeps.


def volumes_to_delete_again() -> list[Volume]:
    """Return volumes whose deletion was interrupted."""
    waiting = Volume.objects.filter(state=VolumeState.DELETING).order_by("pk")[:BATCH]
    return [row for row in waiting if not _has_open_operation(row.pk)]


def snapshots_to_delete_again() -> list[Snapshot]:
    waiting = Snapshot.objects.filter(state=SnapshotState.DELETING).order_by("pk")[:BATCH]
    return [row for row in waiting if not _has_open_operation(row.pk)]


def _has_open_operation(subject: UUID) -> bool:
    under_way = Q(ended_at=None) | Q(concluded_at=None) & ~Q(state=OperationState.CANCELLED)
    return Operation.objects.filter(under_way, subject=subject).exists()


def charged_volumes(now: datetime) -> list[Volume]:
    """Return volumes that should be metered: present and priced, on hosts that have reported lately."""
    states = [VolumeState.READY, VolumeState.RESTORING, VolumeState.MOVING, VolumeState.COPYING]
    found = Volume.objects.filter(has_reported(now), state__in=states, micros_per_day__gt=0, lost_at=None)
    return list(found.order_by("pk"))


def charged_snapshots(now: datetime) -> list[Snapshot]:
    found = Snapshot.objects.filter(has_reported(now), state=SnapshotState.READY, micros_gb_day__gt=0)
    return list(found.order_by("pk"))


def silent_volumes(now: datetime, host_id: UUID | None = None) -> dict[UUID, datetime]:
    """Map each volume on a silent host, or on this one if it is silent, to the host's last report."""
    return _silent(Volume.objects.exclude(state=VolumeState.GONE), now, host_id)


def silent_snapshots(now: datetime, host_id: UUID | None = None) -> dict[UUID, datetime]:
    return _silent(Snapshot.objects.exclude(state=SnapshotState.GONE), now, host_id)


def last_reports_of_volumes() -> dict[UUID, datetime]:
    """Map each volume to the last report of its host."""
    rows = Volume.objects.exclude(state=VolumeState.GONE).order_by()
    return dict(rows.values_list("pk", "host__last_seen_at"))


def last_reports_of_snapshots() -> dict[UUID, datetime]:
    rows = Snapshot.objects.exclude(state=SnapshotState.GONE).order_by()
    return dict(rows.values_list("pk", "host__last_seen_at"))


def _silent(rows: QuerySet[Any], now: datetime, host_id: UUID | None) -> dict[UUID, datetime]:
    found = rows.filter(is_silent(now)) if host_id is None else rows.filter(is_silent(now), host_id=host_id)
    return dict(found.order_by().values_list("pk", "host__last_seen_at"))


def unpaid_volumes(now: datetime) -> list[Volume]:
    """Return unattached volumes that nobody has paid for during the whole retention period."""
    due = Volume.objects.filter(state=VolumeState.READY, unpaid_since__lte=now - UNPAID_KEPT)
    attached = Attachment.objects.filter(detached_at__isnull=True, volume__isnull=False)
    return list(due.exclude(pk__in=attached.values("volume_id")).order_by("pk")[:BATCH])


def storage_ending(*, now: datetime, within: timedelta, owner_id: UUID | None = None) -> list[EndingRow]:
    """Return unpaid storage that is deleted within this time, the earliest first, of one owner or of all."""
    ends = {"unpaid_since__gt": now - UNPAID_KEPT, "unpaid_since__lte": now - UNPAID_KEPT + within}
    own = {} if owner_id is None else {"owner_id": owner_id}
    kept = [VolumeState.READY, VolumeState.RESTORING, VolumeState.MOVING, VolumeState.COPYING]
    volumes = Volume.objects.filter(state__in=kept, **ends, **own)
    snapshots = Snapshot.objects.filter(state=SnapshotState.READY, data_set=None, **ends, **own)
    rows = [
        EndingRow(row.owner_id, row.pk, kind, row.name, row.unpaid_since + UNPAID_KEPT)
        for kind, found in (("volume", volumes), ("snapshot", snapshots))
        for row in found
        if row.unpaid_since is not None
    ]
    return sorted(rows, key=lambda row: row.delete_at)


def nearly_full_volumes(*, since: datetime, percent: float) -> list[FullVolume]:
    """Return attached volumes that were used to this percentage by reports since then."""
    share = percent / 100
    full = Q(used_mb__gte=F("total_mb") * share) | Q(inodes_used__gte=F("inodes_total") * share)
    uses = {row.subject: row for row in DiskUse.objects.filter(full, at__gte=since, total_mb__gt=0)}
    attached = Attachment.objects.filter(volume_id__in=uses, detached_at__isnull=True).select_related("volume")
    return [FullVolume(row.holder, row.volume, uses[row.volume.pk]) for row in attached if row.volume is not None]


def unpaid_snapshots(now: datetime) -> list[Snapshot]:
    due = Snapshot.objects.filter(state=SnapshotState.READY, unpaid_since__lte=now - UNPAID_KEPT, data_set=None)
    return list(due.order_by("pk")[:BATCH])


def volumes_among(ids: Iterable[UUID]) -> set[UUID]:
    """Return those of the ids that are volumes, in any state."""
    return set(Volume.objects.filter(pk__in=ids).order_by().values_list("pk", flat=True))


def snapshots_among(ids: Iterable[UUID]) -> set[UUID]:
    return set(Snapshot.objects.filter(pk__in=ids).order_by().values_list("pk", flat=True))
