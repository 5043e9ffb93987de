"""Serializers of object storage: connections, syncs, schedules, archives."""

from typing import TYPE_CHECKING, Any

from rest_framework import serializers

from common.http.fields import NameText
from common.http.message_schema import MessageOut
from common.ids import public_id
from common.message_words import told
from instances.constants import ARCHIVE_TRIED
from instances.models import Instance
from instances.models.archives import ArchiveChoice
from instances.retention.archive import archive_folder
from instances.retention.selectors import archive_place, is_archived
from instances.schedules.recurrence import DAYS
from instances.web.serializers import INSTANCE_PREFIX, Shape
from instances.web.volumes.rows import percent_of
from instances.web.volumes.schemas import StorageFailure
from instances.web.volumes.serializers import VOLUME_PREFIX
from storage.states import SnapshotSource, SyncCause, SyncDirection, SyncState

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
        "failure": {"code": sync.failure_code, **told(sync.failure_message, sync.failure_detail)}
        if sync.failure_code
        else None,
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
        **told(work.message, work.detail),
    }


Text, Time, Whole, Yes = (
    serializers.CharField,
    serializers.DateTimeField,
    serializers.IntegerField,
    serializers.BooleanField,
)


class ConnectionLogin(serializers.Serializer[Any]):
    """Another access key for the same place."""

    key_id = Text(max_length=200)
    secret = Text(max_length=200, trim_whitespace=True, help_text="Kept encrypted; never shown again")


class ConnectionIn(ConnectionLogin):
    """A place in S3-compatible object storage.

    Access is checked at once.
    """

    name = NameText(max_length=60)
    endpoint = Text(max_length=300, help_text="https://s3.eu-central-1.amazonaws.com, or only the name")
    region = Text(
        max_length=60, allow_blank=True, default="", help_text="Left out: us-east-1, which fits most that have none"
    )
    bucket = Text(max_length=63)
    prefix = Text(max_length=300, allow_blank=True, default="", help_text="A folder in the bucket, in which all of it lies")


class ConnectionOut(serializers.Serializer[Any]):
    """A place that was checked when it was saved."""

    id = Text()
    name = Text()
    endpoint = Text()
    region = Text()
    bucket = Text()
    prefix = Text()
    key_id = Text()
    can_write = Yes(help_text="false: the key reads only, and nothing is copied there")
    checked_at = Time()
    created_at = Time()


class SyncTermsIn(serializers.Serializer[Any]):
    """What to copy where."""

    connection = Text(help_text="conn_…")
    direction = serializers.ChoiceField(choices=SyncDirection.values, help_text="up: to object storage; down: from it")
    path = Text(max_length=300, allow_blank=True, default="", help_text="A folder of the disk; left out: all of it")
    folder = Text(max_length=300, allow_blank=True, default="", help_text="In the connection's own folder")
    delete_extra = Yes(default=False, help_text="Delete at the destination what the source does not have")


class SyncIn(SyncTermsIn):
    """A sync that starts now."""


class SyncProgress(serializers.Serializer[Any]):
    """Progress of the copying."""

    done_bytes = Whole()
    total_bytes = Whole(help_text="0: not known yet")
    done_files = Whole()
    total_files = Whole(help_text="0: not known yet")
    percent = Whole(allow_null=True)
    detail = Text()
    message = MessageOut(allow_null=True)


class SyncSubject(serializers.Serializer[Any]):
    """The disk."""

    kind = serializers.ChoiceField(choices=SnapshotSource.values)
    id = Text(help_text="vol_… or inst_…")
    name = Text()


class SyncOut(serializers.Serializer[Any]):
    """One sync."""

    id = Text()
    of = SyncSubject()
    connection = Text(allow_null=True, help_text="null: removed since")
    connection_name = Text()
    direction = serializers.ChoiceField(choices=SyncDirection.values)
    path = Text()
    folder = Text()
    delete_extra = Yes()
    cause = serializers.ChoiceField(choices=SyncCause.values)
    state = serializers.ChoiceField(choices=SyncState.values)
    simulated = Yes(help_text="Its host has no disks: nothing was copied")
    progress = SyncProgress(allow_null=True)
    copied_bytes = Whole()
    copied_files = Whole()
    same_files = Whole(help_text="Were there already")
    deleted_files = Whole()
    failure = StorageFailure(allow_null=True)
    created_at = Time()
    ended_at = Time(allow_null=True)


class SyncScheduleIn(SyncTermsIn):
    """A schedule: every so many hours, or at a time on chosen days."""

    volume = Text(required=False, allow_null=True, help_text="vol_…")
    instance = Text(required=False, allow_null=True, help_text="inst_…: its data disk")
    every_hours = Whole(min_value=1, max_value=168, required=False, allow_null=True)
    days = serializers.ListField(
        child=serializers.ChoiceField(choices=["mon", "tue", "wed", "thu", "fri", "sat", "sun"]),
        required=False,
        max_length=7,
    )
    at = serializers.TimeField(required=False, allow_null=True, help_text="HH:MM in the time zone")
    time_zone = Text(max_length=64, default="UTC")


class SyncScheduleOut(serializers.Serializer[Any]):
    """A schedule of syncs."""

    id = Text()
    of = SyncSubject()
    connection = Text()
    connection_name = Text()
    direction = serializers.ChoiceField(choices=SyncDirection.values)
    path = Text()
    folder = Text()
    delete_extra = Yes()
    every_hours = Whole(allow_null=True)
    days = serializers.ListField(child=Text())
    at = Text(allow_null=True)
    time_zone = Text(allow_null=True)
    next_at = Time()


class ArchiveIn(serializers.Serializer[Any]):
    """Whether the data disk is archived in object storage before it is deleted after a long stop."""

    archive = serializers.ChoiceField(choices=ArchiveChoice.values, help_text="account: as the account's default says")
    connection = Text(required=False, allow_null=True, help_text="conn_…, with on")


class ArchiveOut(serializers.Serializer[Any]):
    """Whether and where the data disk is archived."""

    archive = serializers.ChoiceField(choices=ArchiveChoice.values)
    connection = Text(allow_null=True, help_text="Where it goes: its own, or the account's")
    connection_name = Text(allow_null=True)
    folder = Text(allow_null=True, help_text="In the connection's own folder")
    archived_at = Time(allow_null=True, help_text="Since it stopped last")
    begins_at = Time(allow_null=True, help_text="When its free time is over")
    deleted_at_latest = Time(allow_null=True, help_text="Archived or not")


class ArchiveDefaultIn(serializers.Serializer[Any]):
    """Where to archive the data disks of all instances without a choice of their own."""

    connection = Text(allow_null=True, help_text="conn_…; null: nothing is archived")


class ArchiveDefaultOut(serializers.Serializer[Any]):
    """Where the data disks of all instances without a choice of their own are archived."""

    connection = Text(allow_null=True)
    connection_name = Text(allow_null=True)
