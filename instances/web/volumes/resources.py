"""Responses about volumes, snapshots and public data sets."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from accounts.models import User
from common import clock
from common.ids import public_id
from common.messages.rendering import message_fields
from common.money import format_money
from common.resources import OneOf, resource
from instances.core.selectors import instance_of
from instances.web.resources import HOST_PREFIX, INSTANCE_PREFIX
from instances.web.volumes.disk_resources import (
    DiskUsage,
    StorageFailure,
    StoragePlace,
    StorageProgress,
    disk_usage_resource,
    place_resource,
    progress_resource,
)
from instances.web.volumes.rows import SnapshotRow, VolumeRow, snapshot_rows, volume_rows
from marketplace.hosts.storage_selectors import StorageHost
from storage.states import SnapshotSource, SnapshotState, VolumeMoveKind, VolumeMoveState, VolumeState
from storage.volumes.selectors import attachments_of, disk_uses, open_operations, snapshot_of, volume_of

if TYPE_CHECKING:
    from storage.models import DataSet, Snapshot, Volume, VolumeMove


@resource
class StorageHostOut(StoragePlace):
    """A host that can store volumes."""

    disk_kind: str
    disk_free_gb: int
    gb_day: Annotated[str, "Price per GB-day"]


@resource
class VolumeGrowth:
    """Size and price of a volume once its host has expanded it."""

    size_gb: int
    daily_rate: Annotated[str, "Charged once expanded"]


@resource
class VolumeMoveOut:
    """A transfer of a volume to another host, as a move or a copy."""

    id: str
    kind: Annotated[str, OneOf(VolumeMoveKind.values)]
    state: Annotated[str, OneOf(VolumeMoveState.values)]
    source: str
    target: Annotated[str, "For a move, the volume itself"]
    from_host: StoragePlace
    to_host: StoragePlace
    daily_rate: Annotated[str, "Daily rate of the volume on the new host, charged from its arrival"]
    for_instance: Annotated[str | None, "inst_…: the instance that starts once it has arrived"]
    checksum: Annotated[str | None, "Over names, sizes and all chunks; verified by the receiving host"]
    bytes: Annotated[int, "Bytes transferred, excluding empty blocks"]
    cuts: Annotated[int, "How often the connection was interrupted and copying resumed"]
    failure: StorageFailure | None
    created_at: datetime
    switched_at: Annotated[datetime | None, "When the new host took over"]
    ended_at: Annotated[datetime | None, "When cleanup was complete on both hosts"]


@resource
class VolumeOut:
    """Named storage that outlives instances."""

    id: str
    name: str
    state: Annotated[str, OneOf(VolumeState.values)]
    host: StoragePlace
    size_gb: int
    path: Annotated[str, "Mount path in an instance"]
    attached_to: Annotated[str | None, "inst_…: the instance it is attached to"]
    usage: Annotated[DiskUsage | None, "null until first attached, and on simulated hosts"]
    progress: StorageProgress | None
    growth: Annotated[VolumeGrowth | None, "Set while it is being expanded"]
    move: Annotated[VolumeMoveOut | None, "Set while it is moved or copied to another host"]
    snapshot: Annotated[str | None, "The snapshot it was created from"]
    daily_rate: str
    cost_so_far: str
    delete_at: Annotated[datetime | None, "When it is deleted because it is unpaid"]
    lost_at: Annotated[datetime | None, "Since when its host can't find it; not charged until it is back"]
    restore_from: Annotated[str | None, "For a lost volume: a snapshot from which it can be restored, if any"]
    failure: StorageFailure | None
    created_at: datetime


@resource
class SnapshotOrigin:
    """Source of the snapshot."""

    kind: Annotated[str, OneOf(SnapshotSource.values)]
    id: str
    name: str


@resource
class SnapshotOut:
    """A point-in-time copy of a disk."""

    id: str
    name: str
    state: Annotated[str, OneOf(SnapshotState.values)]
    host: StoragePlace
    source: SnapshotOrigin
    size_gb: int
    stored_bytes: Annotated[int, "Space used on the host; charged in whole GB"]
    checksum: Annotated[str, "Over all non-empty blocks and their positions; empty until ready"]
    progress: StorageProgress | None
    data_set: Annotated[str | None, "Published under this name"]
    daily_rate: str
    cost_so_far: str
    delete_at: datetime | None
    failure: StorageFailure | None
    created_at: datetime
    ready_at: datetime | None


@resource
class DataSetOut:
    """A public data set, which every instance on its host can read."""

    slug: str
    title: str
    description: str
    licence: str
    host: StoragePlace
    size_gb: int
    stored_bytes: int
    path: str
    published_at: datetime


@resource
class DataDiskOut:
    """The data disk."""

    size_gb: int
    path: str
    usage: DiskUsage | None
    progress: StorageProgress | None


@resource
class MountedVolume:
    """A volume that is attached to the instance."""

    id: str
    name: str
    path: str


@resource
class MountedDataSet:
    """A data set that the instance mounts."""

    slug: str
    path: str


@resource
class InstanceStorageOut:
    """Data disk, volumes and data sets of an instance."""

    data_disk: DataDiskOut
    volumes: list[MountedVolume]
    data_sets: list[MountedDataSet]


VOLUME_PREFIX, SNAPSHOT_PREFIX, VOLUME_MOVE_PREFIX = "vol", "snap", "vmov"


def shown_volume(owner: User, volume_id: UUID) -> VolumeOut:
    """Return one volume of `owner`."""
    return volume_resource(volume_rows([volume_of(owner.pk, volume_id)], clock.now())[0])


def shown_snapshot(owner: User, snapshot_id: UUID) -> SnapshotOut:
    """Return one snapshot of `owner`."""
    return snapshot_resource(snapshot_rows([snapshot_of(owner.pk, snapshot_id)], clock.now())[0])


def volume_resource(row: VolumeRow) -> VolumeOut:
    volume = row.volume
    return VolumeOut(
        id=public_id(VOLUME_PREFIX, volume.pk),
        name=volume.name,
        state=volume.state,
        host=place_resource(volume.host),
        size_gb=volume.size_gb,
        path=f"/mnt/{volume.name}",
        attached_to=None if row.holder is None else public_id(INSTANCE_PREFIX, row.holder),
        usage=disk_usage_resource(row.use),
        progress=progress_resource(row.work or row.carrying),
        growth=_growth(row),
        move=None if row.move is None else volume_move_resource(row.move),
        snapshot=None if volume.snapshot_id is None else public_id(SNAPSHOT_PREFIX, volume.snapshot_id),
        daily_rate=format_money(volume.micros_per_day),
        cost_so_far=format_money(row.cost.total_micros),
        delete_at=row.delete_at,
        lost_at=volume.lost_at,
        restore_from=None if row.restore_from is None else public_id(SNAPSHOT_PREFIX, row.restore_from),
        failure=_failure(volume),
        created_at=volume.created_at,
    )


def volume_move_resource(move: "VolumeMove") -> VolumeMoveOut:
    """Return a transfer; its hosts must be loaded."""
    return VolumeMoveOut(
        id=public_id(VOLUME_MOVE_PREFIX, move.pk),
        kind=move.kind,
        state=move.state,
        source=public_id(VOLUME_PREFIX, move.source_id),
        target=public_id(VOLUME_PREFIX, move.target_id),
        from_host=place_resource(move.from_host),
        to_host=place_resource(move.to_host),
        daily_rate=format_money(move.micros_per_day),
        for_instance=None if move.waits_for is None else public_id(INSTANCE_PREFIX, move.waits_for),
        checksum=move.checksum or None,
        bytes=move.carried_bytes,
        cuts=move.cuts,
        failure=StorageFailure(code=move.failure_code, **message_fields(move.failure_message, move.failure_detail))
        if move.failure_code
        else None,
        created_at=move.created_at,
        switched_at=move.switched_at,
        ended_at=move.ended_at,
    )


def snapshot_resource(row: SnapshotRow) -> SnapshotOut:
    snapshot = row.snapshot
    prefix = VOLUME_PREFIX if snapshot.source_kind == SnapshotSource.VOLUME else INSTANCE_PREFIX
    return SnapshotOut(
        id=public_id(SNAPSHOT_PREFIX, snapshot.pk),
        name=snapshot.name,
        state=snapshot.state,
        host=place_resource(snapshot.host),
        source=SnapshotOrigin(
            kind=snapshot.source_kind, id=public_id(prefix, snapshot.source_id), name=snapshot.source_name
        ),
        size_gb=snapshot.size_gb,
        stored_bytes=snapshot.stored_bytes,
        checksum=snapshot.checksum,
        progress=progress_resource(row.work),
        data_set=row.published or None,
        daily_rate=format_money(row.micros_per_day),
        cost_so_far=format_money(row.cost.total_micros),
        delete_at=row.delete_at,
        failure=_failure(snapshot),
        created_at=snapshot.created_at,
        ready_at=snapshot.ready_at,
    )


def data_set_resource(found: "DataSet") -> DataSetOut:
    return DataSetOut(
        slug=found.slug,
        title=found.title,
        description=found.description,
        licence=found.licence,
        host=place_resource(found.snapshot.host),
        size_gb=found.snapshot.size_gb,
        stored_bytes=found.snapshot.stored_bytes,
        path=f"/pub/{found.slug}",
        published_at=found.published_at,
    )


def storage_host_resource(host: StorageHost) -> StorageHostOut:
    return StorageHostOut(
        id=public_id(HOST_PREFIX, host.id),
        name=host.name,
        region=host.region,
        simulated=host.simulated,
        disk_kind=host.disk_kind,
        disk_free_gb=host.disk_free_gb,
        gb_day=format_money(host.micros_gb_day),
    )


def shown_disks(renter: User, instance_id: UUID) -> InstanceStorageOut:
    """Return the data disk, volumes and public data sets of an instance."""
    instance = instance_of(renter, instance_id)
    use, work = disk_uses([instance.pk]).get(instance.pk), open_operations([instance.pk]).get(instance.pk)
    mounts = attachments_of([instance.pk])
    return InstanceStorageOut(
        data_disk=DataDiskOut(
            size_gb=instance.data_disk_gb, path="/data", usage=disk_usage_resource(use), progress=progress_resource(work)
        ),
        volumes=[
            MountedVolume(
                id=public_id(VOLUME_PREFIX, each.volume.pk), name=each.volume.name, path=f"/mnt/{each.volume.name}"
            )
            for each in mounts
            if each.volume is not None
        ],
        data_sets=[
            MountedDataSet(slug=each.data_set.slug, path=f"/pub/{each.data_set.slug}")
            for each in mounts
            if each.data_set is not None
        ],
    )


def _growth(row: VolumeRow) -> VolumeGrowth | None:
    """Return size and price of the volume once its host has made it larger."""
    if row.grows_to_gb is None:
        return None
    return VolumeGrowth(size_gb=row.grows_to_gb, daily_rate=format_money(row.grown_micros_per_day or 0))


def _failure(kept: "Volume | Snapshot") -> StorageFailure | None:
    """Return why it failed; for a ready volume, why its last restore failed."""
    if not kept.failure_code or kept.state == VolumeState.GONE:
        return None
    return StorageFailure(code=kept.failure_code, **message_fields(kept.failure_message, kept.failure_detail))
