"""JSON of connections, syncs, schedules and archives."""

from typing import TYPE_CHECKING, Any

from common.ids import public_id
from instances.constants import ARCHIVE_TRIED
from instances.models import Instance
from instances.retention.archive import archive_folder
from instances.retention.selectors import archive_place, is_archived
from instances.schedules.recurrence import DAYS
from instances.web.serializers import INSTANCE_PREFIX, Shape
from instances.web.volumes.rows import percent_of
from instances.web.volumes.serializers import VOLUME_PREFIX
from storage.states import SnapshotSource, SyncState

if TYPE_CHECKING:
    from storage.models import Connection, Sync, SyncSchedule

CONNECTION_PREFIX, SYNC_PREFIX, SCHEDULE_PREFIX = "conn", "sync", "plan"


def connection_shape(connection: "Connection") -> Shape:
    return {
        "id": public_id(CONNECTION_PREFIX, connection.pk),
        "name": connection.name,
        "endpoint": connection.endpoint,
        "region": connection.region,
        "bucket": connection.bucket,
        "prefix": connection.prefix,
        "key_id": connection.key_id,
        "can_write": connection.can_write,
        "checked_at": connection.checked_at,
        "created_at": connection.created_at,
    }


def sync_shape(sync: "Sync") -> Shape:
    return {
        "id": public_id(SYNC_PREFIX, sync.pk),
        **_terms(sync),
        "cause": sync.cause,
        "state": sync.state,
        "simulated": sync.host.runtime == "simulated",
        "progress": _progress(sync),
        "copied_bytes": sync.copied_bytes,
        "copied_files": sync.copied_files,
        "same_files": sync.same_files,
        "deleted_files": sync.deleted_files,
        "failure": {"code": sync.failure_code, "detail": sync.failure_detail} if sync.failure_code else None,
        "created_at": sync.created_at,
        "ended_at": sync.ended_at,
    }


def schedule_shape(schedule: "SyncSchedule") -> Shape:
    return {
        "id": public_id(SCHEDULE_PREFIX, schedule.pk),
        **_terms(schedule),
        "connection_name": schedule.connection.name,
        "every_hours": schedule.every_hours,
        "days": [DAYS[day] for day in schedule.days],
        "at": schedule.at or None,
        "time_zone": schedule.time_zone or None,
        "next_at": schedule.next_at,
    }


def archive_shape(instance: Instance) -> Shape:
    place, begins = archive_place(instance), instance.release_at
    return {
        "archive": instance.archive_choice,
        **_place(place),
        "folder": archive_folder(instance) if place and instance.stopped_at else None,
        "archived_at": instance.archived_at if is_archived(instance) else None,
        "begins_at": begins if place else None,
        "deleted_at_latest": begins + ARCHIVE_TRIED if place and begins else begins,
    }


def archive_default_shape(connection: "Connection | None") -> Shape:
    return _place(connection)


def _place(connection: "Connection | None") -> Shape:
    if connection is None:
        return {"connection": None, "connection_name": None}
    return {"connection": public_id(CONNECTION_PREFIX, connection.pk), "connection_name": connection.name}


def _terms(row: Any) -> Shape:
    prefix = VOLUME_PREFIX if row.subject_kind == SnapshotSource.VOLUME else INSTANCE_PREFIX
    return {
        "of": {"kind": row.subject_kind, "id": public_id(prefix, row.subject_id), "name": row.subject_name},
        "connection": None if row.connection_id is None else public_id(CONNECTION_PREFIX, row.connection_id),
        "connection_name": getattr(row, "connection_name", ""),
        "direction": row.direction,
        "path": row.path,
        "folder": row.folder,
        "delete_extra": row.delete_extra,
    }


def _progress(sync: "Sync") -> Shape | None:
    work = sync.operation
    if sync.state != SyncState.RUNNING or work is None:
        return None
    return {
        "done_bytes": work.done_bytes,
        "total_bytes": work.total_bytes,
        "done_files": work.done_files,
        "total_files": work.total_files,
        "percent": percent_of(work),
        "detail": work.detail,
    }
