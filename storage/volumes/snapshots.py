"""Snapshots of volumes and data disks.

A snapshot is ready only once its host has proven that it is complete.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError

from accounts.models import User
from common import change_counters, clock
from common.db.transactions import use_case
from common.messages.rendering import columns
from common.transitions import move
from marketplace.hosts.storage_selectors import storage_price
from storage.constants import COPY_WITHIN, DROP_WITHIN, SNAPSHOTS_AT_MOST
from storage.errors import SnapshotInUse, SnapshotNotReady, TooManyVolumes, VolumeBusy, VolumeElsewhere
from storage.models import DataSet, Operation, Snapshot, Volume
from storage.operations.metering import close_snapshot, hold_for_snapshot, open_snapshot
from storage.operations.services import request_operation
from storage.states import SNAPSHOT_MACHINE, OperationState, SnapshotSource, SnapshotState, VolumeState
from storage.volumes.lost import mark_volume_found
from storage.volumes.selectors import snapshot_of, snapshots_of, volume_of
from storage.volumes.volumes import change_volume_state, check_idle, check_unused, lock_volume

TAKE: Final = "take_snapshot"
RESTORE: Final = "restore_disk"
DROP: Final = "drop_snapshot"
MARKET: Final = "market"
OWNER: Final = "owner"

_LONGEST_NAME: Final = 80
_SUM_DIGITS: Final = 64


def snapshot_volume(*, owner: User, volume_id: UUID, name: str = "") -> Snapshot:
    """Order a snapshot of a volume, whether in use or not.

    Raises NotFound, VolumeBusy, TooManyVolumes or InsufficientFunds.
    """
    with use_case():
        volume = volume_of(owner.pk, volume_id)
        snapshot = order_snapshot(
            owner=owner,
            host_id=volume.host_id,
            source_kind=SnapshotSource.VOLUME,
            source_id=volume.pk,
            source_name=volume.name,
            size_gb=volume.size_gb,
            name=name,
        )
        if lock_volume(volume.pk).state != VolumeState.READY:
            raise VolumeBusy(f"The volume is {volume.get_state_display()}.")
    return snapshot


def order_snapshot(
    *, owner: User, host_id: UUID, source_kind: str, source_id: UUID, source_name: str, size_gb: int, name: str
) -> Snapshot:
    """Order a snapshot, inside the use case that has checked the source.

    Until the stored size is known, money for the whole disk is held.
    """
    if snapshots_of(owner.pk).count() >= SNAPSHOTS_AT_MOST:
        raise TooManyVolumes(f"One person has at most {SNAPSHOTS_AT_MOST} snapshots.")
    check_idle(source_id)
    now = clock.now()
    snapshot = Snapshot(
        owner=owner,
        host_id=host_id,
        name=(name or f"{source_name} {now:%Y-%m-%d %H:%M}")[:_LONGEST_NAME],
        source_kind=source_kind,
        source_id=source_id,
        source_name=source_name[:_LONGEST_NAME],
        size_gb=size_gb,
        micros_gb_day=storage_price(host_id),
        created_at=now,
    )
    hold_for_snapshot(snapshot)
    try:
        snapshot.save(force_insert=True)
    except IntegrityError as error:  # two requests at the same time
        raise VolumeBusy("A snapshot of this disk is already being created.") from error
    args = {"snapshot": snapshot.pk.hex, "size_gb": str(size_gb), **_disk_argument(source_kind, source_id)}
    request_operation(host_id=host_id, owner_id=owner.pk, kind=TAKE, subject=source_id, args=args, within=COPY_WITHIN)
    return snapshot


def restore_volume(*, owner: User, snapshot_id: UUID) -> Volume:
    """Restore a volume from a snapshot; whatever was written to it since is lost.

    The volume must not be attached. Raises NotFound, SnapshotNotReady or VolumeBusy.
    """
    with use_case():
        snapshot = locked_ready(owner, snapshot_id)
        volume = volume_of(owner.pk, snapshot.source_id)
        if volume.host_id != snapshot.host_id:
            raise VolumeElsewhere(
                "The volume has since migrated to another host; create a volume from the snapshot instead."
            )
        check_unused(lock_volume(volume.pk))
        change_volume_state(volume, VolumeState.RESTORING, reason="restore_asked", actor=OWNER)
        request_restore(snapshot, size_gb=volume.size_gb)
    return volume


def request_restore(snapshot: Snapshot, *, size_gb: int) -> None:
    """Request the restoring of a disk, inside the use case that has checked that no container uses it."""
    check_idle(snapshot.source_id)
    place = _disk_argument(snapshot.source_kind, snapshot.source_id)
    request_operation(
        host_id=snapshot.host_id,
        owner_id=snapshot.owner_id,
        kind=RESTORE,
        subject=snapshot.source_id,
        args={"snapshot": snapshot.pk.hex, "size_gb": str(size_gb), **place},
        within=COPY_WITHIN,
    )


def delete_snapshot(*, owner: User, snapshot_id: UUID) -> Snapshot:
    """Delete a snapshot, which ends its charges; repeating it changes nothing.

    Raises SnapshotInUse.
    """
    with use_case():
        snapshot = snapshot_of(owner.pk, snapshot_id)
        if snapshot.state != SnapshotState.DELETING:
            start_snapshot_deletion(snapshot, reason="deleted", actor=OWNER)
    return snapshot


def start_snapshot_deletion(snapshot: Snapshot, *, reason: str, actor: str) -> None:
    """Close the snapshot's meter and request its deletion, inside a use case.

    Raises SnapshotInUse while it is being made, published, or copied from.
    """
    close_snapshot(snapshot.pk, at=clock.now())
    locked = Snapshot.objects.select_for_update(of=("self",), no_key=True).get(pk=snapshot.pk)
    if locked.state == SnapshotState.CREATING:
        raise SnapshotInUse("The snapshot is just being made. Try again when it is ready.")
    if DataSet.objects.filter(snapshot=locked).exists():
        raise SnapshotInUse("The snapshot is published as a public data set.")
    copied = Volume.objects.filter(snapshot=locked, state=VolumeState.CREATING)
    restored = Operation.objects.filter(kind=RESTORE, args__snapshot=locked.pk.hex, ended_at=None)
    if copied.exists() or restored.exists():
        raise SnapshotInUse("A disk is being created from the snapshot.")
    _move(snapshot, SnapshotState.DELETING, reason=reason, actor=actor)
    request_deletion(snapshot)


def request_deletion(snapshot: Snapshot) -> None:
    args = {"snapshot": snapshot.pk.hex}
    request_operation(
        host_id=snapshot.host_id, owner_id=snapshot.owner_id, kind=DROP, subject=snapshot.pk, args=args, within=DROP_WITHIN
    )


def locked_ready(owner: User, snapshot_id: UUID) -> Snapshot:
    """Lock and return the owner's snapshot.

    Raises NotFound or SnapshotNotReady.
    """
    snapshot_of(owner.pk, snapshot_id)
    snapshot = Snapshot.objects.select_for_update(of=("self",), no_key=True).get(pk=snapshot_id)
    if snapshot.state != SnapshotState.READY:
        raise SnapshotNotReady(f"The snapshot is {snapshot.get_state_display()}.")
    return snapshot


# Results of operations.


def apply_snapshot_result(operation: Operation) -> None:
    """Mark a snapshot as ready if its host has proven it complete, else as failed and free of charge."""
    snapshot = Snapshot.objects.get(pk=UUID(hex=operation.args["snapshot"]))
    proof = _proof(operation.outcome) if operation.state == OperationState.DONE else None
    at = operation.ended_at or clock.now()
    if proof is None:
        close_snapshot(snapshot.pk)
        code = operation.failure_code or "copy_damaged"
        fault = {"failure_code": code, **columns("failure_detail", operation.last_message)}
        _move(snapshot, SnapshotState.FAILED, reason=code, actor=MARKET, **fault)
        return
    snapshot.stored_bytes = int(proof["stored_bytes"])
    open_snapshot(snapshot, at=at)
    _move(snapshot, SnapshotState.READY, reason="made", actor=MARKET, ready_at=at, **proof)


def apply_restore_result(operation: Operation) -> None:
    """Mark a volume as ready again after a restore; one that failed has changed nothing on the volume."""
    volume = Volume.objects.filter(pk=operation.subject, state=VolumeState.RESTORING).first()
    if volume is None:
        return  # an instance's data disk, whose instance holds the state
    done = operation.state == OperationState.DONE
    fault: dict[str, Any] = {"failure_code": "", **columns("failure_detail", None)}
    if done:
        mark_volume_found(volume.pk)
    else:
        fault = {"failure_code": operation.failure_code, **columns("failure_detail", operation.last_message)}
    change_volume_state(volume, VolumeState.READY, reason="restored" if done else "restore_failed", actor=MARKET, **fault)


def apply_deletion_result(operation: Operation) -> None:
    """Mark a snapshot as gone once its host has deleted it; the sweep repeats what did not succeed."""
    snapshot = Snapshot.objects.get(pk=operation.subject)
    if operation.state == OperationState.DONE and snapshot.state == SnapshotState.DELETING:
        mark_gone(snapshot, at=operation.ended_at or clock.now())


def mark_gone(snapshot: Snapshot, *, at: datetime) -> None:
    """Mark a snapshot as gone."""
    _move(snapshot, SnapshotState.GONE, reason="deleted", actor=MARKET, deleted_at=at)


def _proof(outcome: Mapping[str, str]) -> dict[str, Any] | None:
    """Return checksum and size of a complete snapshot; None where the agent did not report both."""
    stored, checksum = outcome.get("stored_bytes", ""), outcome.get("checksum", "")
    if not stored.isdecimal() or not 0 < len(checksum) <= _SUM_DIGITS:
        return None
    return {"stored_bytes": int(stored), "checksum": checksum}


def _disk_argument(source_kind: str, source_id: UUID) -> dict[str, str]:
    """Return the operation's argument that names the disk to the agent."""
    return {"volume" if source_kind == SnapshotSource.VOLUME else "instance": source_id.hex}


def _move(snapshot: Snapshot, target: SnapshotState, *, reason: str, actor: str, **fields: Any) -> None:
    move(snapshot, target, machine=SNAPSHOT_MACHINE, reason=reason, actor=actor, **fields)
    change_counters.notify_change(f"user:{snapshot.owner_id.hex}")
