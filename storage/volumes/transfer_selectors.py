"""Reads of transfers of volumes to other hosts."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import QuerySet

from storage.models import DiskUse, Operation, Volume, VolumeMove
from storage.states import OperationState, VolumeMoveState

BATCH = 200
_BROKEN = (OperationState.FAILED, OperationState.CANCELLED)


def bytes_to_transfer(volume: Volume) -> int:
    """Return the bytes that a transfer has to copy: the last reported usage, or the whole size if unknown."""
    use = DiskUse.objects.filter(subject=volume.pk).first()
    return volume.size_gb * 1024**3 if use is None else use.used_mb * 1024**2


def moves_of_volume(volume_id: UUID) -> QuerySet[VolumeMove]:
    """Return all transfers that the volume was source or target of, newest first."""
    rows = VolumeMove.objects.filter(source_id=volume_id) | VolumeMove.objects.filter(target_id=volume_id)
    return rows.select_related("source", "target", "from_host", "to_host").distinct()


def open_volume_moves(volume_ids: Sequence[UUID]) -> dict[UUID, VolumeMove]:
    """Map each volume to the open transfer that it is source or target of."""
    rows = VolumeMove.objects.filter(ended_at=None).select_related("source", "target", "from_host", "to_host")
    found = {row.source_id: row for row in rows.filter(source_id__in=volume_ids)}
    return found | {row.target_id: row for row in rows.filter(target_id__in=volume_ids)}


def progress_operations(move_ids: Sequence[UUID]) -> dict[UUID, Operation]:
    """Map each transfer to the operation that shows its progress.

    It is the receiving one as soon as that has reported a size, else the sending one.
    """
    found: dict[UUID, Operation] = {}
    for row in Operation.objects.filter(subject__in=move_ids).order_by("created_at"):
        known = found.get(row.subject)
        if known is None or (row.kind == "receive_volume" and row.total_bytes):
            found[row.subject] = row
    return found


def failed_operation(move_id: UUID) -> Operation | None:
    """Return the first operation of a transfer that failed or was cancelled."""
    return Operation.objects.filter(subject=move_id, state__in=_BROKEN).order_by("ended_at").first()


def arrived_operation(move_id: UUID) -> Operation | None:
    """Return the receiving operation of a transfer once it is done, which proves that all data arrived."""
    return Operation.objects.filter(subject=move_id, kind="receive_volume", state=OperationState.DONE).first()


def last_clearing_operation(move_id: UUID) -> Operation | None:
    """Return the newest operation that removes leftovers of a transfer."""
    return Operation.objects.filter(subject=move_id, kind="clear_volume").order_by("-created_at", "-pk").first()


def transfers_awaited_by(holder: UUID) -> list[VolumeMove]:
    """Return the transfers that an instance waits for, or whose end it has not received yet."""
    rows = VolumeMove.objects.filter(waits_for=holder).select_related("source", "from_host", "to_host")
    return list(rows.order_by("pk"))


def holders_waiting() -> list[UUID]:
    rows = VolumeMove.objects.filter(waits_for__isnull=False).order_by("waits_for").values_list("waits_for", flat=True)
    return [holder for holder in rows.distinct()[:BATCH] if holder is not None]


def open_transfers() -> list[UUID]:
    return list(VolumeMove.objects.filter(ended_at=None).order_by("created_at").values_list("pk", flat=True)[:BATCH])


def gigabytes_coming(host_id: UUID) -> int:
    """Return the GB of volumes that are being moved to the host.

    The host's own report of free disk does not include all of them yet.
    """
    coming = VolumeMove.objects.filter(to_host_id=host_id, state=VolumeMoveState.COPYING, kind="move")
    return sum(coming.values_list("target__size_gb", flat=True))


def gigabytes_growing(host_id: UUID) -> int:
    """Return the GB by which volumes of the host are being grown."""
    growing = Operation.objects.filter(host_id=host_id, kind="grow_volume", ended_at=None)
    wanted = {row.subject: int(row.args["size_gb"]) for row in growing}
    sizes = Volume.objects.filter(pk__in=wanted).order_by().values_list("pk", "size_gb")
    return sum(wanted[key] - size for key, size in sizes)
