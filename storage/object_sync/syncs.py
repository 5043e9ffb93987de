"""Syncs: the disk's host copies a folder to or from object storage, one sync at a time for each disk."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction

from accounts.models import User
from common import change_counters, clock
from common.db.transactions import use_case
from common.encryption import CannotDecrypt, decrypt
from common.messages.message import Message
from common.messages.rendering import columns
from common.transitions import move
from storage.clients.s3.keys import parse_folder
from storage.constants import SYNC_WITHIN
from storage.errors import ConnectionReadOnly, StorageLoginRefused, VolumeBusy
from storage.models import Connection, Sync, SyncSchedule
from storage.object_sync.selectors import connection_of, has_open_disk_operation, sync_of
from storage.operations.services import cancel_operation, mark_concluded, request_operation
from storage.states import (
    SYNC_MACHINE,
    OperationState,
    SnapshotSource,
    SyncCause,
    SyncDirection,
    SyncState,
    VolumeState,
)
from storage.volumes.selectors import volume_of
from storage.volumes.volumes import lock_volume

if TYPE_CHECKING:
    from storage.models import Operation

KIND: Final = "sync_objects"
MARKET: Final = "market"
OWNER: Final = "owner"
CANCELLED: Final = "cancelled"
_LARGEST: Final = 2**62
_BUSY: Final = "Its host is at work on this disk just now. Try again when that is done."


@dataclass(frozen=True)
class Disk:
    """The disk to copy: a volume, or the data disk of an instance."""

    kind: str
    id: UUID
    name: str
    host_id: UUID
    size_gb: int


@dataclass(frozen=True)
class SyncRequest:
    """Direction and folders of a sync, and whether files that the source does not have are deleted."""

    direction: str
    path: str = ""
    folder: str = ""
    delete_extra: bool = False

    @property
    def checked(self) -> "SyncRequest":
        """Return the request with its paths normalised, or raise InvalidInput."""
        path, folder = parse_folder("path", self.path), parse_folder("folder", self.folder)
        return SyncRequest(self.direction, path, folder, self.delete_extra)


def terms_of(disk: Disk, sync_request: SyncRequest) -> dict[str, Any]:
    """Return the columns of `SyncTerms`, which syncs and schedules share."""
    return {
        "subject_kind": disk.kind,
        "subject_id": disk.id,
        "subject_name": disk.name[:80],
        "direction": sync_request.direction,
        "path": sync_request.path,
        "folder": sync_request.folder,
        "delete_extra": sync_request.delete_extra,
    }


@dataclass(frozen=True)
class Origin:
    """Cause of a sync, with its schedule where there is one."""

    cause: str = SyncCause.ASKED
    schedule: SyncSchedule | None = None


def sync_volume(
    *, owner: User, volume_id: UUID, connection_id: UUID, sync_request: SyncRequest, origin: Origin | None = None
) -> Sync:
    """Start a sync of a volume.

    Raises NotFound, InvalidInput, ConnectionReadOnly or VolumeBusy.
    """
    with use_case():
        volume = volume_of(owner.pk, volume_id)
        connection = connection_of(owner.pk, connection_id)
        locked = lock_volume(volume.pk)
        if locked.state != VolumeState.READY:
            raise VolumeBusy(f"The volume is {locked.get_state_display()}.")
        disk = Disk(SnapshotSource.VOLUME, locked.pk, locked.name, locked.host_id, locked.size_gb)
        return start_sync(owner_id=owner.pk, connection=connection, disk=disk, sync_request=sync_request, origin=origin)


def start_sync(
    *, owner_id: UUID, connection: Connection, disk: Disk, sync_request: SyncRequest, origin: Origin | None = None
) -> Sync:
    """Create a sync and its operation, inside the use case that has checked the disk.

    Raises InvalidInput, ConnectionReadOnly or VolumeBusy.
    """
    sync_request, origin = sync_request.checked, origin or Origin()
    if sync_request.direction == SyncDirection.UP and not connection.can_write:
        raise ConnectionReadOnly(f"The access key of {connection.name} doesn't have write permission there.")
    if has_open_disk_operation(disk.id):
        raise VolumeBusy(_BUSY)
    sync = _new(owner_id, connection, disk, sync_request, origin)
    try:
        with transaction.atomic():
            sync.save(force_insert=True)
    except IntegrityError as error:  # two requests at the same time
        raise VolumeBusy(_BUSY) from error
    sync.operation = request_operation(
        host_id=disk.host_id,
        owner_id=owner_id,
        kind=KIND,
        subject=disk.id,
        args=_args(sync, connection, disk),
        secrets=_secrets(connection),
        within=SYNC_WITHIN,
    )
    sync.save(update_fields=["operation"])
    return sync


def record_failed_sync(
    *,
    owner_id: UUID,
    connection: Connection,
    disk: Disk,
    sync_request: SyncRequest,
    schedule: SyncSchedule,
    code: str,
    detail: Message,
) -> Sync:
    """Record a scheduled sync that could not be started, for the list of syncs."""
    failed = {"state": SyncState.FAILED, "failure_code": code, "ended_at": clock.now()}
    detail_columns = columns("failure_detail", detail)
    sync = _new(owner_id, connection, disk, sync_request, Origin(SyncCause.SCHEDULE, schedule), **failed, **detail_columns)
    sync.save(force_insert=True)
    change_counters.notify_change(f"user:{owner_id.hex}")
    return sync


def cancel_sync(*, owner: User, sync_id: UUID) -> Sync:
    """Cancel a sync; files that were copied stay, and a sync that has ended is left as it is."""
    with use_case():
        sync = sync_of(owner.pk, sync_id)
        _cancel(sync)
    return sync


def cancel_syncs_of(*, subject: UUID) -> int:
    """Cancel the running syncs of a disk that goes away, inside a use case, and return their number."""
    return sum(_cancel(sync) for sync in Sync.objects.filter(subject_id=subject, ended_at=None))


def apply_sync_result(operation: "Operation") -> Sync | None:
    """Write the result of a sync's operation to the sync; return None where that was done already."""
    sync = Sync.objects.filter(operation=operation, ended_at=None).select_related("connection", "owner").first()
    if sync is None:
        return None
    at = operation.ended_at or clock.now()
    if operation.state == OperationState.DONE:
        _end(sync, SyncState.DONE, at=at, actor=MARKET, reason="done", **_figures(operation.outcome))
    else:
        code = operation.failure_code or operation.state
        totals = {"copied_bytes": operation.done_bytes, "copied_files": operation.done_files}
        fault = {"failure_code": code, **columns("failure_detail", operation.last_message)}
        _end(sync, SyncState.FAILED, at=at, actor=MARKET, reason=code, **totals, **fault)
    return sync


def request_mail(sync: Sync, mail: str) -> None:
    """Request that the owner be mailed about the sync; call it inside a use case."""
    Sync.objects.filter(pk=sync.pk).update(mail=mail, mailed_at=None)


def _cancel(sync: Sync) -> bool:
    if sync.ended_at is not None or sync.operation is None:
        return False
    if not cancel_operation(operation_id=sync.operation.pk, reason=CANCELLED):
        return False  # the operation has ended, and its result is about to be written
    mark_concluded(operation_id=sync.operation.pk)
    sync.operation.refresh_from_db()
    totals = {"copied_bytes": sync.operation.done_bytes, "copied_files": sync.operation.done_files}
    _end(sync, SyncState.CANCELLED, at=clock.now(), actor=OWNER, reason=CANCELLED, **totals)
    return True


def _end(sync: Sync, target: SyncState, *, at: datetime, actor: str, reason: str, **fields: Any) -> None:
    move(sync, target, machine=SYNC_MACHINE, reason=reason, actor=actor, ended_at=at, **fields)
    change_counters.notify_change(f"user:{sync.owner_id.hex}")


def _new(
    owner_id: UUID, connection: Connection, disk: Disk, sync_request: SyncRequest, origin: Origin, **fields: Any
) -> Sync:
    return Sync(
        owner_id=owner_id,
        connection=connection,
        connection_name=connection.name,
        schedule=origin.schedule,
        host_id=disk.host_id,
        cause=origin.cause,
        created_at=clock.now(),
        **terms_of(disk, sync_request),
        **fields,
    )


def _args(sync: Sync, connection: Connection, disk: Disk) -> dict[str, str]:
    remote = "/".join(filter(None, (connection.bucket, connection.prefix, sync.folder)))
    return {
        "image": settings.SYNC_IMAGE,
        "direction": sync.direction,
        "path": sync.path,
        "remote": remote,
        "delete": "yes" if sync.delete_extra else "",
        "size_gb": str(disk.size_gb),
        "volume" if disk.kind == SnapshotSource.VOLUME else "instance": disk.id.hex,
    }


def _secrets(connection: Connection) -> dict[str, str]:
    try:
        secret = decrypt(connection.sealed_secret)
    except CannotDecrypt as error:
        raise StorageLoginRefused("The secret of this connection can no longer be decrypted: enter it again.") from error
    return {
        "endpoint": connection.endpoint,
        "region": connection.region,
        "key_id": connection.key_id,
        "secret": secret,
        "virtual_host": "yes" if connection.virtual_host else "",
    }


def _figures(outcome: Any) -> dict[str, int]:
    """Read numbers that an agent reported; malformed ones count as 0."""
    names = ("copied_bytes", "copied_files", "same_files", "deleted_files")
    reported = {name: str(outcome.get(name, "")) for name in names}
    return {name: min(int(text), _LARGEST) if text.isdecimal() else 0 for name, text in reported.items()}


def claim_mail(sync: Sync, *, now: datetime) -> bool:
    """Mark the sync's mail as queued and return whether the caller is to queue it.

    False when another process was faster, or when another mail has become due meanwhile. Call it inside a use case.
    """
    return bool(Sync.objects.filter(pk=sync.pk, mail=sync.mail, mailed_at=None).update(mailed_at=now))
