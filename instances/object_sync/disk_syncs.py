"""Syncs of data disks with object storage, and the effects of every ended sync.

The instances may run or be stopped.
"""

from typing import TYPE_CHECKING, Final
from uuid import UUID

from accounts.models import User
from accounts.webhooks.outbox import emit
from common.db.transactions import use_case
from common.errors import IllegalTransition
from common.ids import public_id
from common.messages.message import Name
from common.messages.rendering import failure_fields
from instances.core.event_messages import SyncDown, SyncUp, failure_of
from instances.core.selectors import any_instance, instance_of
from instances.core.transitions import HOST, RENTER, record_event, touch_renter
from instances.models import Instance
from instances.retention.archive import apply_archive_result
from instances.states import InstanceState
from instances.volumes.attach import check_not_restoring
from storage.object_sync import syncs
from storage.object_sync.selectors import connection_of
from storage.object_sync.syncs import Disk, Origin, SyncRequest
from storage.states import SnapshotSource, SyncCause, SyncDirection, SyncState

if TYPE_CHECKING:
    from storage.models import Operation, Sync

_HAS_A_DISK: Final = (InstanceState.RUNNING, InstanceState.STOPPED, InstanceState.FAILED)


def sync_disk(
    *, renter: User, instance_id: UUID, connection_id: UUID, sync_request: SyncRequest, origin: Origin | None = None
) -> "Sync":
    """Start a sync of an instance's data disk.

    Raises NotFound, IllegalTransition, InvalidInput, ConnectionReadOnly or VolumeBusy.
    """
    with use_case():
        connection = connection_of(renter.pk, connection_id)
        instance = _locked(renter, instance_id)
        begun = syncs.start_sync(
            owner_id=renter.pk, connection=connection, disk=disk_of(instance), sync_request=sync_request, origin=origin
        )
        form = SyncUp if begun.direction == SyncDirection.UP else SyncDown
        record_event(instance, kind="sync_asked", actor=RENTER, detail=form(connection=connection.name))
        touch_renter(instance)
    return begun


def disk_of(instance: Instance) -> Disk:
    return Disk(SnapshotSource.DISK, instance.pk, instance.name, instance.host_id, instance.data_disk_gb)


def apply_sync_result(operation: "Operation") -> None:
    """Apply a sync's result: its row, webhooks, and the instance's events.

    Call it in the transaction that marks the operation as concluded.
    """
    sync = syncs.apply_sync_result(operation)
    if sync is None:
        return
    _emit_webhook(sync)
    if sync.subject_kind != SnapshotSource.DISK:
        return
    instance = any_instance(sync.subject_id)
    if sync.cause == SyncCause.ARCHIVE:
        apply_archive_result(instance, sync)
    elif sync.state == SyncState.FAILED:
        record_event(instance, kind="sync_failed", actor=HOST, detail=failure_of(sync))
    else:
        record_event(instance, kind="sync_done", actor=HOST, detail=Name(name=sync.connection_name))
    touch_renter(instance)


def record_sync_failure(sync: "Sync") -> None:
    """Emit webhook and event of a scheduled sync that could not be started."""
    _emit_webhook(sync)
    if sync.subject_kind == SnapshotSource.DISK:
        instance = any_instance(sync.subject_id)
        record_event(instance, kind="sync_failed", actor=HOST, detail=failure_of(sync))
        touch_renter(instance)


def _locked(renter: User, instance_id: UUID) -> Instance:
    """Lock and return the instance; a release that comes meanwhile waits, and then cancels the sync."""
    found = instance_of(renter, instance_id)
    rows = Instance.objects.select_for_update(of=("self",), no_key=True).filter(pk=found.pk)
    instance = rows.select_related("host", "offer", "image").get()
    if not instance.data_disk_gb:
        raise IllegalTransition("This instance has no data disk.", state=instance.state, actions=instance.actions)
    if instance.state not in _HAS_A_DISK or instance.started_at is None:
        raise IllegalTransition(
            f"An instance that is {instance.state} has no data disk to copy yet, or it is on its way.",
            state=instance.state,
            actions=instance.actions,
        )
    check_not_restoring(instance)
    return instance


def _emit_webhook(sync: "Sync") -> None:
    prefix = "vol" if sync.subject_kind == SnapshotSource.VOLUME else "inst"
    done = sync.state == SyncState.DONE
    failure = None if done else failure_fields(sync)
    payload = {
        "sync": public_id("sync", sync.pk),
        "of": public_id(prefix, sync.subject_id),
        "name": sync.subject_name,
        "direction": sync.direction,
        "connection": sync.connection_name,
        "cause": sync.cause,
        "copied_files": sync.copied_files,
        "copied_bytes": sync.copied_bytes,
        "failure": failure,
    }
    emit(user_id=sync.owner_id, kind="sync.done" if done else "sync.failed", payload=payload)
