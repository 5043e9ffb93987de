"""Storage on a host that was written off: its operations fail; volumes, snapshots and images end."""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django.db.models import QuerySet

from accounts.models import User
from billing.constants import SNAPSHOT_SOURCE, VOLUME_SOURCE
from billing.metering.host_fault_credits import credit_source
from common import clock
from common.db.transactions import use_case
from common.errors import DomainError, StaleRow
from common.ids import public_id
from common.messages.rendering import columns
from common.transitions import move
from marketplace.hosts.incidents import open_incident
from marketplace.incident_messages import stuck
from storage.constants import HOST_WRITTEN_OFF
from storage.models import DataSet, Image, Operation, Snapshot, Volume, VolumeMove
from storage.operations.messages import HostIsLost
from storage.operations.metering import close_snapshot, close_volume
from storage.operations.services import MARKET, fail_operation
from storage.states import IMAGE_MACHINE, SNAPSHOT_MACHINE, ImageState, SnapshotState, VolumeMoveState, VolumeState
from storage.volumes import snapshots
from storage.volumes.volumes import change_volume_state, lock_volume
from storage.volumes.volumes import mark_gone as leave_volume
from storage.volumes.write_off_mail import queue_lost_mail

if TYPE_CHECKING:
    from marketplace.models import Host

logger = logging.getLogger(__name__)

REFUND_REASON: Final = "given back, its host was written off"
_ENDS: Final = (VolumeState.READY, VolumeState.FAILED, VolumeState.DELETING)


def end_work_of_host(host_id: UUID) -> list[UUID]:
    """Fail all open operations of the host and return their ids, whose results are applied next."""
    ids = list(Operation.objects.filter(host_id=host_id, ended_at=None).order_by("pk").values_list("pk", flat=True))
    return [key for key in ids if _fail(key)]


def end_storage_of_host(host: "Host", *, since: datetime) -> int:
    """End all storage on the host and return how much that was.

    Each owner's storage ends in one transaction, together with the mail about it. Nothing is charged from `since` on;
    charges for later time are refunded in the proportion that holds for any fault of a host.
    """
    owners: dict[UUID, None] = {}
    for rows in _lost(host.pk):
        owners.update(dict.fromkeys(rows.order_by("owner_id").values_list("owner_id", flat=True)))
    return sum(_try_owner(host, owner_id, since) for owner_id in owners)


def storage_left_on(host_id: UUID) -> bool:
    """Return whether the host still has storage or open operations, or is the target of a transfer."""
    return (
        Operation.objects.filter(host_id=host_id, ended_at=None).exists()
        or Volume.objects.filter(host_id=host_id).exclude(state=VolumeState.GONE).exists()
        or Snapshot.objects.filter(host_id=host_id).exclude(state=SnapshotState.GONE).exists()
        or Image.objects.filter(host_id=host_id).exclude(state=ImageState.GONE).exists()
        or VolumeMove.objects.filter(to_host_id=host_id, state=VolumeMoveState.COPYING).exists()
    )


def _fail(key: UUID) -> bool:
    with use_case():
        return fail_operation(operation_id=key, code=HOST_WRITTEN_OFF, detail=HostIsLost())


def _lost(host_id: UUID) -> tuple[QuerySet[Any], QuerySet[Any], QuerySet[Any]]:
    """Return the host's volumes, snapshots and images that are to end here.

    Those that a failed operation is about to settle are left out.
    """
    there = Volume.objects.filter(host_id=host_id, state__in=_ENDS)
    kept = Snapshot.objects.filter(host_id=host_id).exclude(state__in=[SnapshotState.CREATING, SnapshotState.GONE])
    images = Image.objects.filter(host_id=host_id).exclude(state__in=[ImageState.SAVING, ImageState.GONE])
    return there, kept, images


def _try_owner(host: "Host", owner_id: UUID, since: datetime) -> int:
    """End one owner's storage; an error does not stop the pass for other owners and hosts."""
    try:
        return _end_of_owner(host, owner_id, since)
    except StaleRow:
        return 0  # its owner or another worker changed it: the next run sees it
    except DomainError as error:
        logger.exception("what user %s keeps on a written-off host is not ended", owner_id)
        open_incident(kind="write_off_stuck", subject=public_id("user", owner_id), detail=stuck(error))
        return 0


def _end_of_owner(host: "Host", owner_id: UUID, since: datetime) -> int:
    with use_case():
        names = []
        ends: tuple[Callable[[Any, datetime], bool], ...] = (_end_volume, _end_snapshot, _end_image)
        for rows, end in zip(_lost(host.pk), ends, strict=True):
            for row in rows.filter(owner_id=owner_id).order_by("pk"):
                if end(row, since):
                    names.append(str(row))
        if names:
            queue_lost_mail(owner=User.objects.get(pk=owner_id), names=names, host=host, since=since)
    return len(names)


def _end_volume(row: Volume, since: datetime) -> bool:
    close_volume(row.pk, at=since)
    _refund(VOLUME_SOURCE, row.pk, since)
    locked = lock_volume(row.pk)
    if locked.state not in _ENDS:
        return False
    if locked.state != VolumeState.DELETING:
        fault: dict[str, Any] = {"failure_code": HOST_WRITTEN_OFF, **columns("failure_detail", HostIsLost())}
        change_volume_state(locked, VolumeState.DELETING, reason=HOST_WRITTEN_OFF, actor=MARKET, **fault)
    leave_volume(locked, at=clock.now())
    return True


def _end_snapshot(row: Snapshot, since: datetime) -> bool:
    close_snapshot(row.pk, at=since)
    _refund(SNAPSHOT_SOURCE, row.pk, since)
    DataSet.objects.filter(snapshot=row).update(active=False)
    if row.state != SnapshotState.DELETING:
        fault: dict[str, Any] = {"failure_code": HOST_WRITTEN_OFF, **columns("failure_detail", HostIsLost())}
        move(row, SnapshotState.DELETING, machine=SNAPSHOT_MACHINE, reason=HOST_WRITTEN_OFF, actor=MARKET, **fault)
    snapshots.mark_gone(row, at=clock.now())
    return True


def _end_image(row: Image, since: datetime) -> bool:
    move(row, ImageState.GONE, machine=IMAGE_MACHINE, reason=HOST_WRITTEN_OFF, actor=MARKET, active=False)
    return True


def _refund(source_kind: str, source_id: UUID, since: datetime) -> None:
    credit_source(
        source_kind=source_kind,
        source_id=source_id,
        key=f"{source_kind}:{source_id.hex}:{HOST_WRITTEN_OFF}",
        since=since,
        until=clock.now(),
        reason=REFUND_REASON,
        actor=MARKET,
    )
