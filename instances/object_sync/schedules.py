"""Scheduled syncs: every few hours, or at a time on chosen days, started by a sweep."""

import logging
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Final, TypedDict
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import User
from common import clock
from common.db.transactions import joining, use_case
from common.errors import DomainError, IllegalTransition, NotFound, StaleRow, wrong_field
from instances.constants import SCHEDULE_TRIED
from instances.core.money_messages import refusal
from instances.core.selectors import instance_of
from instances.models import Instance
from instances.object_sync.disk_syncs import disk_of, record_sync_failure, sync_disk
from instances.schedules.recurrence import Entry, is_zone, next_after
from storage.errors import VolumeBusy
from storage.object_sync.schedules import (
    Recurrence,
    advance,
    delete_schedule,
    delete_schedules_of,
    insert_schedule,
    lock_due_schedule,
)
from storage.object_sync.selectors import schedules_due
from storage.object_sync.syncs import Disk, Origin, SyncRequest, record_failed_sync, sync_volume
from storage.states import SnapshotSource, SyncCause
from storage.volumes.selectors import volume_of

if TYPE_CHECKING:
    from storage.models import SyncSchedule

logger = logging.getLogger(__name__)

HOURS_MAX: Final = 24 * 7
_PASSING: Final = (IllegalTransition, VolumeBusy)


@dataclass(frozen=True)
class SyncRecurrence:
    """Recurrence: every so many hours, or at `at` of `days` (0 is Monday) in a time zone."""

    every_hours: int | None = None
    days: tuple[int, ...] = ()
    at: time | None = None
    time_zone: str = "UTC"

    def check(self) -> None:
        """Raise InvalidInput for an incomplete or impossible recurrence."""
        if self.every_hours is not None:
            if not 1 <= self.every_hours <= HOURS_MAX:
                raise wrong_field("every_hours", _("Choose 1 to %(most)s hours.") % {"most": HOURS_MAX})
            return
        if self.at is None or not self.days or not set(self.days) <= set(range(7)):
            raise wrong_field("days", _("Choose an interval, or days and a time."))
        if not is_zone(self.time_zone):
            raise wrong_field("time_zone", _("Enter a time zone, such as Europe/Berlin or Asia/Shanghai."))

    @property
    def round(self) -> Recurrence:
        """Return the recurrence as `storage` stores it."""
        if self.every_hours is not None or self.at is None:
            return Recurrence(self.every_hours, (), "", "")
        return Recurrence(None, tuple(sorted(set(self.days))), f"{self.at:%H:%M}", self.time_zone)


def add_schedule(
    *,
    owner: User,
    subject_kind: str,
    subject_id: UUID,
    connection_id: UUID,
    sync_request: SyncRequest,
    rhythm: SyncRecurrence,
) -> "SyncSchedule":
    """Add a schedule of syncs.

    Raises NotFound, InvalidInput, IllegalTransition (no data disk), ConnectionReadOnly or TooManyVolumes.
    """
    rhythm.check()
    with use_case():
        return insert_schedule(
            owner=owner,
            connection_id=connection_id,
            disk=_disk(owner, subject_kind, subject_id),
            sync_request=sync_request,
            round_=rhythm.round,
            next_at=next_run(rhythm, clock.now()),
        )


class SyncOrder(TypedDict):
    """What a form asks for: a disk, a connection and what is copied."""

    subject_kind: str
    subject_id: UUID
    connection_id: UUID
    sync_request: SyncRequest


def start_or_schedule(*, owner: User, order: SyncOrder, rhythm: SyncRecurrence | None) -> None:
    """Start a sync, or add a schedule where a recurrence is given.

    Raises what `sync_volume`, `sync_disk` and `add_schedule` raise.
    """
    if rhythm is not None:
        add_schedule(owner=owner, rhythm=rhythm, **order)
        return
    connection_id, request = order["connection_id"], order["sync_request"]
    if order["subject_kind"] == SnapshotSource.VOLUME:
        sync_volume(owner=owner, volume_id=order["subject_id"], connection_id=connection_id, sync_request=request)
    else:
        sync_disk(renter=owner, instance_id=order["subject_id"], connection_id=connection_id, sync_request=request)


def remove_schedule(*, owner: User, schedule_id: UUID) -> None:
    """Delete a schedule; syncs that it has started go on."""
    with use_case():
        delete_schedule(owner=owner, schedule_id=schedule_id)


def start_due_syncs(*, now: datetime) -> int:
    """Start the syncs that are due and return how many schedules were handled.

    A sync that cannot be started is recorded as failed, and the schedule goes on to its next time.
    """
    return sum(_start_isolated(schedule_id, now) for schedule_id in schedules_due(now))


def next_run(rhythm: SyncRecurrence, after: datetime) -> datetime:
    if rhythm.every_hours is not None:
        return after + timedelta(hours=rhythm.every_hours)
    assert rhythm.at is not None  # checked
    coming = next_after([Entry("sync", rhythm.days, rhythm.at)], rhythm.time_zone, after)
    assert coming is not None  # it has days
    return coming.at


def rhythm_of(schedule: "SyncSchedule") -> SyncRecurrence:
    at = time.fromisoformat(schedule.at) if schedule.at else None
    return SyncRecurrence(schedule.every_hours, tuple(schedule.days), at, schedule.time_zone)


def _start_isolated(schedule_id: UUID, now: datetime) -> bool:
    """Start a due sync and set the next time in one transaction.

    So no sync is started twice, and none is lost when a worker dies.
    """
    try:
        with joining():
            _start_sync(lock_due_schedule(schedule_id=schedule_id, now=now), now)
    except StaleRow:
        return False
    except DomainError as error:
        return _record_failure(schedule_id, now, error)
    except Exception:  # one broken row must not stop those behind it
        logger.exception("the sync schedule %s was passed over", schedule_id)
        return False
    return True


def _start_sync(schedule: "SyncSchedule", now: datetime) -> None:
    sync_request, origin = _request_of(schedule), Origin(SyncCause.SCHEDULE, schedule)
    _advance(schedule, now)
    if schedule.subject_kind == SnapshotSource.VOLUME:
        sync_volume(
            owner=schedule.owner,
            volume_id=schedule.subject_id,
            connection_id=schedule.connection_id,
            sync_request=sync_request,
            origin=origin,
        )
    else:
        sync_disk(
            renter=schedule.owner,
            instance_id=schedule.subject_id,
            connection_id=schedule.connection_id,
            sync_request=sync_request,
            origin=origin,
        )


def _record_failure(schedule_id: UUID, now: datetime, error: DomainError) -> bool:
    """Record why a sync could not be started.

    Temporary causes are retried for SCHEDULE_TRIED first. The schedules of a disk that is gone are deleted.
    """
    with use_case():
        try:
            schedule = lock_due_schedule(schedule_id=schedule_id, now=now)
        except StaleRow:
            return False
        if isinstance(error, _PASSING) and now - schedule.next_at < SCHEDULE_TRIED:
            return False
        try:
            disk = _disk(schedule.owner, schedule.subject_kind, schedule.subject_id)
        except DomainError:
            delete_schedules_of(subject=schedule.subject_id)
            return True
        _advance(schedule, now)
        failed = record_failed_sync(
            owner_id=schedule.owner_id,
            connection=schedule.connection,
            disk=disk,
            sync_request=_request_of(schedule),
            schedule=schedule,
            code=error.code,
            detail=refusal(error),
        )
        record_sync_failure(failed)
    return True


def _advance(schedule: "SyncSchedule", now: datetime) -> None:
    advance(schedule, next_at=next_run(rhythm_of(schedule), now))


def _request_of(schedule: "SyncSchedule") -> SyncRequest:
    return SyncRequest(schedule.direction, schedule.path, schedule.folder, schedule.delete_extra)


def _disk(owner: User, kind: str, subject_id: UUID) -> Disk:
    """Return the volume or data disk, or raise NotFound or IllegalTransition."""
    if kind == SnapshotSource.VOLUME:
        volume = volume_of(owner.pk, subject_id)
        return Disk(kind, volume.pk, volume.name, volume.host_id, volume.size_gb)
    instance: Instance = instance_of(owner, subject_id)
    if instance.released_at is not None:
        raise NotFound("The instance was released.")
    if not instance.data_disk_gb:
        raise IllegalTransition("This instance has no data disk.", state=instance.state, actions=instance.actions)
    return disk_of(instance)
