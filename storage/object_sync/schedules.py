"""Rows of sync schedules.

`instances` computes when each is next due, since it knows time zones and weekly schedules.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from accounts.models import User
from common.errors import StaleRow
from storage.constants import SYNC_SCHEDULES_AT_MOST
from storage.errors import ConnectionReadOnly, TooManyVolumes
from storage.models import SyncSchedule
from storage.object_sync.selectors import connection_of, schedule_of, schedules_of
from storage.object_sync.syncs import Disk, SyncRequest, terms_of
from storage.states import SyncDirection


@dataclass(frozen=True)
class Recurrence:
    """Recurrence of a schedule.

    It is every so many hours, or at `at` (HH:MM) of `days` (0 is Monday) in a time zone.
    """

    every_hours: int | None
    days: tuple[int, ...]
    at: str
    time_zone: str


def insert_schedule(
    *, owner: User, connection_id: UUID, disk: Disk, sync_request: SyncRequest, round_: Recurrence, next_at: datetime
) -> SyncSchedule:
    """Insert a schedule; call it inside a use case.

    Raises NotFound, InvalidInput, ConnectionReadOnly or TooManyVolumes.
    """
    connection, sync_request = connection_of(owner.pk, connection_id), sync_request.checked
    if sync_request.direction == SyncDirection.UP and not connection.can_write:
        raise ConnectionReadOnly(f"The access key of {connection.name} doesn't have write permission there.")
    if schedules_of(owner.pk).count() >= SYNC_SCHEDULES_AT_MOST:
        raise TooManyVolumes(f"One person has at most {SYNC_SCHEDULES_AT_MOST} schedules of syncs.")
    return SyncSchedule.objects.create(
        owner=owner,
        connection=connection,
        every_hours=round_.every_hours,
        days=list(round_.days),
        at=round_.at,
        time_zone=round_.time_zone,
        next_at=next_at,
        **terms_of(disk, sync_request),
    )


def delete_schedule(*, owner: User, schedule_id: UUID) -> None:
    """Delete a schedule inside a use case, or raise NotFound.

    Syncs that it has started go on.
    """
    schedule_of(owner.pk, schedule_id).delete()


def lock_due_schedule(*, schedule_id: UUID, now: datetime) -> SyncSchedule:
    """Lock and return a schedule that is due, until the transaction ends.

    Raises StaleRow when another process has handled it.
    """
    rows = SyncSchedule.objects.select_for_update(of=("self",), no_key=True).filter(pk=schedule_id, next_at__lte=now)
    found = rows.select_related("owner", "connection").first()
    if found is None:
        raise StaleRow("Somebody else did it.")
    return found


def advance(schedule: SyncSchedule, *, next_at: datetime) -> None:
    schedule.next_at = next_at
    schedule.save(update_fields=["next_at"])


def delete_schedules_of(*, subject: UUID) -> None:
    """Delete all schedules of a disk that no longer exists."""
    SyncSchedule.objects.filter(subject_id=subject).delete()
