"""JSON of volumes, snapshots and public data sets."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from accounts.models import User
from common import clock
from common.ids import public_id
from common.message_words import told, told_failure
from common.money import format_money
from instances.web.serializers import HOST_PREFIX, INSTANCE_PREFIX, Shape
from instances.web.volumes.rows import SnapshotRow, VolumeRow, percent_of, volume_rows
from marketplace.hosts.storage_selectors import StorageHost
from storage.states import SnapshotSource, VolumeState
from storage.volumes.selectors import volume_of

if TYPE_CHECKING:
    from storage.models import Attachment, DataSet, DiskUse, Operation, Snapshot, Volume, VolumeMove

VOLUME_PREFIX, SNAPSHOT_PREFIX, VOLUME_MOVE_PREFIX = "vol", "snap", "vmov"


def shown_volume(owner: User, volume_id: UUID) -> Shape:
    """Return one volume of `owner` as JSON."""
    return volume_shape(volume_rows([volume_of(owner.pk, volume_id)], clock.now())[0])


def volume_shape(row: VolumeRow) -> Shape:
    volume = row.volume
    return {
        "id": public_id(VOLUME_PREFIX, volume.pk),
        "name": volume.name,
        "state": volume.state,
        "host": place_shape(volume.host),
        "size_gb": volume.size_gb,
        "path": f"/mnt/{volume.name}",
        "attached_to": None if row.holder is None else public_id(INSTANCE_PREFIX, row.holder),
        "usage": use_shape(row.use),
        "progress": progress_shape(row.work or row.carrying),
        "growth": _growth(row),
        "move": None if row.move is None else volume_move_shape(row.move),
        "snapshot": None if volume.snapshot_id is None else public_id(SNAPSHOT_PREFIX, volume.snapshot_id),
        "daily_rate": format_money(volume.micros_per_day),
        "cost_so_far": format_money(row.cost.total_micros),
        "delete_at": row.delete_at,
        "lost_at": volume.lost_at,
        "restore_from": None if row.restore_from is None else public_id(SNAPSHOT_PREFIX, row.restore_from),
        "failure": _failure(volume),
        "created_at": volume.created_at,
    }


def volume_move_shape(move: "VolumeMove") -> Shape:
    """Return a transfer as JSON; its hosts must be loaded."""
    return {
        "id": public_id(VOLUME_MOVE_PREFIX, move.pk),
        "kind": move.kind,
        "state": move.state,
        "source": public_id(VOLUME_PREFIX, move.source_id),
        "target": public_id(VOLUME_PREFIX, move.target_id),
        "from_host": place_shape(move.from_host),
        "to_host": place_shape(move.to_host),
        "daily_rate": format_money(move.micros_per_day),
        "for_instance": None if move.waits_for is None else public_id(INSTANCE_PREFIX, move.waits_for),
        "checksum": move.checksum or None,
        "bytes": move.carried_bytes,
        "cuts": move.cuts,
        "failure": {"code": move.failure_code, **told(move.failure_message, move.failure_detail)}
        if move.failure_code
        else None,
        "created_at": move.created_at,
        "switched_at": move.switched_at,
        "ended_at": move.ended_at,
    }


def snapshot_shape(row: SnapshotRow) -> Shape:
    snapshot = row.snapshot
    prefix = VOLUME_PREFIX if snapshot.source_kind == SnapshotSource.VOLUME else INSTANCE_PREFIX
    return {
        "id": public_id(SNAPSHOT_PREFIX, snapshot.pk),
        "name": snapshot.name,
        "state": snapshot.state,
        "host": place_shape(snapshot.host),
        "source": {
            "kind": snapshot.source_kind,
            "id": public_id(prefix, snapshot.source_id),
            "name": snapshot.source_name,
        },
        "size_gb": snapshot.size_gb,
        "stored_bytes": snapshot.stored_bytes,
        "checksum": snapshot.checksum,
        "progress": progress_shape(row.work),
        "data_set": row.published or None,
        "daily_rate": format_money(row.micros_per_day),
        "cost_so_far": format_money(row.cost.total_micros),
        "delete_at": row.delete_at,
        "failure": _failure(snapshot),
        "created_at": snapshot.created_at,
        "ready_at": snapshot.ready_at,
    }


def data_set_shape(found: "DataSet") -> Shape:
    return {
        "slug": found.slug,
        "title": found.title,
        "description": found.description,
        "licence": found.licence,
        "host": place_shape(found.snapshot.host),
        "size_gb": found.snapshot.size_gb,
        "stored_bytes": found.snapshot.stored_bytes,
        "path": f"/pub/{found.slug}",
        "published_at": found.published_at,
    }


def storage_host_shape(host: StorageHost) -> Shape:
    return {
        "id": public_id(HOST_PREFIX, host.id),
        "name": host.name,
        "region": host.region,
        "simulated": host.simulated,
        "disk_kind": host.disk_kind,
        "disk_free_gb": host.disk_free_gb,
        "gb_day": format_money(host.micros_gb_day),
    }


def disks_shape(data_disk_gb: int, use: "DiskUse | None", work: "Operation | None", mounts: list["Attachment"]) -> Shape:
    """Return the data disk, volumes and public data sets of an instance as JSON."""
    return {
        "data_disk": {
            "size_gb": data_disk_gb,
            "path": "/data",
            "usage": use_shape(use),
            "progress": progress_shape(work),
        },
        "volumes": [
            {"id": public_id(VOLUME_PREFIX, each.volume.pk), "name": each.volume.name, "path": f"/mnt/{each.volume.name}"}
            for each in mounts
            if each.volume is not None
        ],
        "data_sets": [
            {"slug": each.data_set.slug, "path": f"/pub/{each.data_set.slug}"}
            for each in mounts
            if each.data_set is not None
        ],
    }


def place_shape(host: Any) -> Shape:
    return {
        "id": public_id(HOST_PREFIX, host.pk),
        "name": host.name,
        "region": host.region,
        "simulated": host.simulated,
    }


def use_shape(use: "DiskUse | None") -> Shape | None:
    if use is None:
        return None
    return {
        "used_mb": use.used_mb,
        "total_mb": use.total_mb,
        "used_percent": use.used_percent,
        "inodes_used": use.inodes_used,
        "inodes_total": use.inodes_total,
        "inodes_percent": use.inodes_percent,
        "nearly_full": use.is_nearly_full,
        "at": use.at,
    }


def progress_shape(work: "Operation | None") -> Shape | None:
    if work is None:
        return None
    return {
        "kind": work.kind,
        "done_bytes": work.done_bytes,
        "total_bytes": work.total_bytes,
        "percent": percent_of(work),
        **told(work.message, work.detail),
    }


def _growth(row: VolumeRow) -> Shape | None:
    """Return size and price of the volume once its host has made it larger."""
    if row.grows_to_gb is None:
        return None
    return {"size_gb": row.grows_to_gb, "daily_rate": format_money(row.grown_micros_per_day or 0)}


def _failure(kept: "Volume | Snapshot") -> Shape | None:
    """Return why it failed; for a ready volume, why its last restore failed."""
    if not kept.failure_code or kept.state == VolumeState.GONE:
        return None
    return told_failure(kept)
