"""Rows of volumes and snapshots with costs, instance, usage and running operations."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from django.utils.functional import Promise

from billing.constants import SNAPSHOT_SOURCE, VOLUME_SOURCE
from billing.metering.costs import Cost, costs_of
from common import clock
from instances.core.storage_selectors import instance_names
from instances.volumes.messages import failure_text
from storage.constants import UNPAID_KEPT
from storage.operations.host_presence import has_reported_at
from storage.operations.metering import snapshot_micros_per_day, stored_gb
from storage.states import SnapshotState, VolumeMoveState, VolumeState
from storage.volumes.selectors import disk_uses, holders_of, open_operations, restorable_volumes
from storage.volumes.transfer_selectors import open_volume_moves, progress_operations

if TYPE_CHECKING:
    from storage.models import DiskUse, Operation, Snapshot, Volume, VolumeMove

_PERCENT = 100


@dataclass(frozen=True)
class VolumeRow:
    """One volume as it is shown."""

    volume: "Volume"
    cost: Cost
    holder: UUID | None
    holder_name: str
    use: "DiskUse | None"
    work: "Operation | None"
    move: "VolumeMove | None" = None
    carrying: "Operation | None" = None
    restore_from: UUID | None = None  # for a lost volume: the snapshot that it can be restored from

    @property
    def host_is_silent(self) -> bool:
        return not has_reported_at(self.volume.host.last_seen_at, clock.now())

    @property
    def delete_at(self) -> datetime | None:
        """Return when it is deleted because nobody pays for it, if so."""
        since = self.volume.unpaid_since
        return None if since is None or self.volume.state == VolumeState.DELETING else since + UNPAID_KEPT

    @property
    def failure(self) -> str | Promise:
        return failure_text(self.volume.failure_code)

    @property
    def is_free(self) -> bool:
        return self.volume.state == VolumeState.READY and self.holder is None and self.work is None

    @property
    def can_be_copied(self) -> bool:
        return self.volume.state == VolumeState.READY and self.work is None

    @property
    def can_grow(self) -> bool:
        return self.can_be_copied and self.volume.unpaid_since is None

    @property
    def can_travel(self) -> bool:
        """Return whether it can be moved or copied to another host."""
        whole = self.volume.unpaid_since is None and self.volume.lost_at is None
        return self.is_free and whole and self.move is None

    @property
    def grows_to_gb(self) -> int | None:
        grows = self.work is not None and self.work.kind == "grow_volume"
        return int(self.work.args["size_gb"]) if self.work is not None and grows else None

    @property
    def grown_micros_per_day(self) -> int | None:
        return int(self.work.args["micros_per_day"]) if self.work is not None and self.grows_to_gb else None

    @property
    def is_on_its_way(self) -> bool:
        return self.move is not None and self.move.state == VolumeMoveState.COPYING

    @property
    def carried_percent(self) -> int | None:
        return percent_of(self.carrying) if self.is_on_its_way else None

    @property
    def can_be_deleted(self) -> bool:
        return self.is_free or self.volume.state == VolumeState.FAILED

    @property
    def percent(self) -> int | None:
        return percent_of(self.work)


@dataclass(frozen=True)
class SnapshotRow:
    """One snapshot as it is shown; `work` is on the disk that it is a copy of."""

    snapshot: "Snapshot"
    cost: Cost
    work: "Operation | None"
    published: str

    @property
    def micros_per_day(self) -> int:
        return snapshot_micros_per_day(self.snapshot)

    @property
    def stored_gb(self) -> int:
        return stored_gb(self.snapshot)

    @property
    def host_is_silent(self) -> bool:
        return not has_reported_at(self.snapshot.host.last_seen_at, clock.now())

    @property
    def delete_at(self) -> datetime | None:
        since = self.snapshot.unpaid_since
        return None if since is None or self.published else since + UNPAID_KEPT

    @property
    def failure(self) -> str | Promise:
        return failure_text(self.snapshot.failure_code)

    @property
    def is_ready(self) -> bool:
        return self.snapshot.state == SnapshotState.READY

    @property
    def can_be_deleted(self) -> bool:
        return not self.published and self.snapshot.state in (SnapshotState.READY, SnapshotState.FAILED)

    @property
    def percent(self) -> int | None:
        return percent_of(self.work)


def percent_of(work: "Operation | None") -> int | None:
    """Return the progress in percent, or None where nothing is running or it is unknown."""
    if work is None or not work.total_bytes:
        return None
    return min(_PERCENT, work.done_bytes * _PERCENT // work.total_bytes)


def volume_rows(volumes: Sequence["Volume"], now: datetime) -> list[VolumeRow]:
    ids = [volume.pk for volume in volumes]
    costs, holders = costs_of(source_kind=VOLUME_SOURCE, source_ids=ids, now=now), holders_of(ids)
    names, uses, works = instance_names(list(holders.values())), disk_uses(ids), open_operations(ids)
    moves = open_volume_moves(ids)
    carrying = progress_operations([move.pk for move in moves.values()])
    lost = [volume.pk for volume in volumes if volume.lost_at is not None]
    restorable = restorable_volumes(lost) if lost else {}
    return [
        VolumeRow(
            volume=volume,
            cost=costs[volume.pk],
            holder=holders.get(volume.pk),
            holder_name=names.get(holders[volume.pk], "") if volume.pk in holders else "",
            use=uses.get(volume.pk),
            work=works.get(volume.pk),
            move=moves.get(volume.pk),
            carrying=carrying.get(moves[volume.pk].pk) if volume.pk in moves else None,
            restore_from=restorable.get(volume.pk),
        )
        for volume in volumes
    ]


def snapshot_rows(snapshots: Sequence["Snapshot"], now: datetime) -> list[SnapshotRow]:
    costs = costs_of(source_kind=SNAPSHOT_SOURCE, source_ids=[each.pk for each in snapshots], now=now)
    works = open_operations([each.source_id for each in snapshots])
    return [SnapshotRow(each, costs[each.pk], _work_on(each, works), _published(each)) for each in snapshots]


def _work_on(snapshot: "Snapshot", works: dict[UUID, "Operation"]) -> "Operation | None":
    """Return the operation on its disk if that makes or restores this snapshot."""
    work = works.get(snapshot.source_id)
    return work if work is not None and work.args.get("snapshot") == snapshot.pk.hex else None


def _published(snapshot: "Snapshot") -> str:
    """Return the name under which it is published, or ""; its data set must be loaded."""
    found = getattr(snapshot, "data_set", None)
    return "" if found is None else str(found.slug)
