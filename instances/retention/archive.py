"""Archives before deletion: the data disk of an instance that was stopped too long is copied first.

The deletion waits until the copy in object storage is complete, or has failed for three days more.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from accounts.models import User
from accounts.webhooks.outbox import emit
from common import clock
from common.db.transactions import joining, use_case
from common.errors import DomainError, IllegalTransition, StaleRow
from common.ids import public_id
from common.messages.message import Name, of_row
from common.messages.rendering import message_fields
from instances.constants import ARCHIVE_AGAIN, ARCHIVE_TRIED
from instances.core.event_messages import ArchiveGivenUp, ArchiveUntried, failure_of
from instances.core.money_messages import refusal
from instances.core.selectors import any_instance, data_due, instance_of
from instances.core.transitions import HOST, RENTER, SYSTEM, record_event, touch_renter
from instances.models import ArchiveDefault, Instance
from instances.models.archives import ArchiveChoice
from instances.retention.selectors import archive_place, is_archive_awaited, is_archive_wanted
from instances.states import ENDING, InstanceState
from storage.errors import ConnectionReadOnly
from storage.object_sync.connections import remove_connection
from storage.object_sync.selectors import archive_failures, connection_of, last_archive
from storage.object_sync.syncs import Disk, Origin, SyncRequest, request_mail, start_sync
from storage.states import SnapshotSource, SyncCause, SyncDirection, SyncMail, SyncState

if TYPE_CHECKING:
    from storage.models import Connection, Sync

_KEPT = (InstanceState.STOPPED, InstanceState.FAILED)


def set_archive(*, renter: User, instance_id: UUID, choice: str, connection_id: UUID | None = None) -> Instance:
    """Set where an instance is archived: as the account has it, to this connection, or not at all.

    Raises NotFound, ConnectionReadOnly or IllegalTransition.
    """
    with use_case():
        instance = instance_of(renter, instance_id)
        if instance.state in ENDING:
            raise IllegalTransition("Its data is already being archived.", state=instance.state, actions=instance.actions)
        connection = _writable(renter, connection_id) if choice == ArchiveChoice.ON else None
        Instance.objects.filter(pk=instance.pk).update(archive_choice=choice, archive_to=connection)
        instance.archive_choice, instance.archive_to = choice, connection
        where = connection.name if connection else choice
        record_event(instance, kind="archive_set", actor=RENTER, detail=Name(name=where))
        touch_renter(instance)
    return instance


def set_archive_default(*, renter: User, connection_id: UUID | None) -> None:
    """Set where the account's instances are archived unless they say otherwise; None: nowhere.

    Raises NotFound or ConnectionReadOnly.
    """
    with use_case():
        if connection_id is None:
            ArchiveDefault.objects.filter(renter=renter).delete()
        else:
            connection = _writable(renter, connection_id)
            ArchiveDefault.objects.update_or_create(renter=renter, defaults={"connection": connection})


def remove_archive_connection(*, owner: User, connection_id: UUID) -> None:
    """Delete a connection with its schedules.

    Instances that are gone no longer refer to it afterwards, since nobody could choose another one for them. Raises
    NotFound, or ConnectionInUse while existing data is to be archived there.
    """
    with joining():
        gone = Instance.objects.filter(renter=owner, archive_to=connection_id, state__in=ENDING)
        gone.update(archive_choice=ArchiveChoice.OFF, archive_to=None)
        remove_connection(owner=owner, connection_id=connection_id)


def start_due_archives(*, now: datetime) -> int:
    """Order the archives of data that is due for deletion; return how many were ordered."""
    return sum(_try_order(instance_id, now) for instance_id in data_due(now))


def apply_archive_result(instance: Instance, sync: "Sync") -> None:
    """Record the end of an archive as event, webhook and mail.

    Call it inside the use case that applies the sync's result.
    """
    if sync.state == SyncState.DONE:
        Instance.objects.filter(pk=instance.pk).update(archived_at=sync.ended_at)
        record_event(instance, kind="archived", actor=HOST, detail=Name(name=_place_text(sync)))
        _emit_webhook(instance, "instance.archived", sync)
        request_mail(sync, SyncMail.ARCHIVED)
        return
    record_event(instance, kind="archive_failed", actor=HOST, detail=failure_of(sync))
    _emit_webhook(instance, "instance.archive_failed", sync)
    if _is_first_failure(instance):
        request_mail(sync, SyncMail.FAILED)


def record_missing_archive(instance: Instance) -> None:
    """Record that data is deleted without an archive, since the time for retries is over.

    Call it inside the use case that deletes the data.
    """
    last = last_archive(instance.pk)
    why, days = last and of_row(last.failure_message, last.failure_detail), ARCHIVE_TRIED.days
    detail = ArchiveGivenUp(days=days, why=why) if why else ArchiveUntried(days=days)
    record_event(instance, kind="archive_given_up", actor=SYSTEM, detail=detail)
    if last is not None and last.ended_at is not None:
        _emit_webhook(instance, "instance.archive_failed", last, given_up=True)
        request_mail(last, SyncMail.GIVEN_UP)


def _try_order(instance_id: UUID, now: datetime) -> bool:
    try:
        with use_case():
            return _order(instance_id, now)
    except StaleRow:
        return False
    except DomainError as error:  # an operation on the disk that will end, or a secret that cannot be decrypted
        _postpone(instance_id, now, error)
        return False


def _order(instance_id: UUID, now: datetime) -> bool:
    rows = Instance.objects.select_for_update(of=("self",), no_key=True).filter(pk=instance_id, state__in=_KEPT)
    if not rows.exists():
        return False
    instance = any_instance(instance_id)
    if not is_archive_awaited(instance, now) or _was_tried_lately(instance, now):
        return False
    place = archive_place(instance)
    assert place is not None  # otherwise no archive is awaited
    start_sync(
        owner_id=instance.renter_id,
        connection=place,
        disk=Disk(SnapshotSource.DISK, instance.pk, instance.name, instance.host_id, instance.data_disk_gb),
        sync_request=SyncRequest(SyncDirection.UP, folder=archive_folder(instance)),
        origin=Origin(SyncCause.ARCHIVE),
    )
    Instance.objects.filter(pk=instance.pk).update(archive_tried_at=now)
    record_event(
        instance,
        kind="archive_begun",
        actor=SYSTEM,
        detail=Name(name=f"{place.name}: {place.bucket}/{archive_folder(instance)}"),
    )
    touch_renter(instance)
    return True


def archive_folder(instance: Instance) -> str:
    """Return the archive's folder.

    It is the same for every try after one stop, so that a try resumes the one before.
    """
    stopped = instance.stopped_at or instance.created_at
    return f"archives/{public_id('inst', instance.pk)}/{stopped:%Y%m%dT%H%M%SZ}"


def _postpone(instance_id: UUID, now: datetime, error: DomainError) -> None:
    with use_case():
        instance = any_instance(instance_id)
        if not is_archive_wanted(instance):
            return
        Instance.objects.filter(pk=instance_id).update(archive_tried_at=now)
        record_event(instance, kind="archive_failed", actor=SYSTEM, detail=refusal(error))
        touch_renter(instance)


def _was_tried_lately(instance: Instance, now: datetime) -> bool:
    return instance.archive_tried_at is not None and instance.archive_tried_at > now - ARCHIVE_AGAIN


def _is_first_failure(instance: Instance) -> bool:
    since = instance.stopped_at or instance.created_at
    return archive_failures(instance.pk, since=since) == 1


def _writable(renter: User, connection_id: UUID | None) -> "Connection":
    assert connection_id is not None
    connection = connection_of(renter.pk, connection_id)
    if not connection.can_write:
        raise ConnectionReadOnly(f"The access key of {connection.name} doesn't have write permission there.")
    return connection


def _place_text(sync: "Sync") -> str:
    place = sync.connection.bucket if sync.connection else sync.connection_name
    return f"{place}/{sync.folder}: {sync.copied_files + sync.same_files} files"


def _emit_webhook(instance: Instance, kind: str, sync: "Sync", **more: Any) -> None:
    payload = {
        "instance": public_id("inst", instance.pk),
        "name": instance.name,
        "sync": public_id("sync", sync.pk),
        "place": _place_text(sync),
        **message_fields(sync.failure_message, sync.failure_detail),
        "at": (sync.ended_at or clock.now()).isoformat(),
        **more,
    }
    emit(user_id=instance.renter_id, kind=kind, payload=payload)
