"""Reads of volumes on their way to another host."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import QuerySet

from storage.models import DiskUse, Operation, Volume, VolumeMove
from storage.states import OperationState, VolumeMoveState

BATCH = 200
_BROKEN = (OperationState.FAILED, OperationState.CANCELLED)


def carried_bytes_of(volume: Volume) -> int:
    """What of it has to travel: what its host last said is used, else all of it."""
    use = DiskUse.objects.filter(subject=volume.pk).first()
    return volume.size_gb * 1024**3 if use is None else use.used_mb * 1024**2


def moves_of_volume(volume_id: UUID) -> QuerySet[VolumeMove]:
    """All that ever carried it, or made it; newest first."""
    rows = VolumeMove.objects.filter(source_id=volume_id) | VolumeMove.objects.filter(target_id=volume_id)
    return rows.select_related("source", "target", "from_host", "to_host").distinct()


def open_volume_moves(volume_ids: Sequence[UUID]) -> dict[UUID, VolumeMove]:
    """The one that each takes part in now, as what is carried or as what is made of it."""
    rows = VolumeMove.objects.filter(ended_at=None).select_related("source", "target", "from_host", "to_host")
    found = {row.source_id: row for row in rows.filter(source_id__in=volume_ids)}
    return found | {row.target_id: row for row in rows.filter(target_id__in=volume_ids)}


def carrying_of(move_ids: Sequence[UUID]) -> dict[UUID, Operation]:
    """How far each is: by who receives once something has come, else by who sends."""
    found: dict[UUID, Operation] = {}
    for row in Operation.objects.filter(subject__in=move_ids).order_by("created_at"):
        known = found.get(row.subject)
        if known is None or (row.kind == "receive_volume" and row.total_bytes):
            found[row.subject] = row
    return found


def broken_part(move_id: UUID) -> Operation | None:
    """What ended without having carried it."""
    return Operation.objects.filter(subject=move_id, state__in=_BROKEN).order_by("ended_at").first()


def arrived_part(move_id: UUID) -> Operation | None:
    """The receiving host's word that everything is there."""
    return Operation.objects.filter(subject=move_id, kind="receive_volume", state=OperationState.DONE).first()


def last_clearing(move_id: UUID) -> Operation | None:
    """The newest order to remove what is left over."""
    return Operation.objects.filter(subject=move_id, kind="clear_volume").order_by("-created_at", "-pk").first()


def moves_waited_for(holder: UUID) -> list[VolumeMove]:
    """What an instance waits for, or waited for and was not told of yet."""
    rows = VolumeMove.objects.filter(waits_for=holder).select_related("source", "from_host", "to_host")
    return list(rows.order_by("pk"))


def holders_waiting() -> list[UUID]:
    rows = VolumeMove.objects.filter(waits_for__isnull=False).order_by("waits_for").values_list("waits_for", flat=True)
    return [holder for holder in rows.distinct()[:BATCH] if holder is not None]


def moves_to_follow() -> list[UUID]:
    return list(VolumeMove.objects.filter(ended_at=None).order_by("created_at").values_list("pk", flat=True)[:BATCH])


def gigabytes_coming(host_id: UUID) -> int:
    """Of volumes that are on their way there: the host's own figure does not know of all of them yet."""
    coming = VolumeMove.objects.filter(to_host_id=host_id, state=VolumeMoveState.COPYING, kind="move")
    return sum(coming.values_list("target__size_gb", flat=True))


def gigabytes_growing(host_id: UUID) -> int:
    """What its volumes are just being made larger by."""
    growing = Operation.objects.filter(host_id=host_id, kind="grow_volume", ended_at=None)
    wanted = {row.subject: int(row.args["size_gb"]) for row in growing}
    sizes = Volume.objects.filter(pk__in=wanted).order_by().values_list("pk", "size_gb")
    return sum(wanted[key] - size for key, size in sizes)
