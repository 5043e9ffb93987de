"""Requests and responses of object storage: connections, syncs, schedules, archives."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from rest_framework import serializers

from common.http.fields import NameText
from common.http.message_schema import MessageOut
from common.ids import public_id
from common.messages.rendering import message_fields
from common.resources import OneOf, resource
from instances.constants import ARCHIVE_TRIED
from instances.models import Instance
from instances.models.archives import ArchiveChoice
from instances.retention.archive import archive_folder
from instances.retention.selectors import archive_place, is_archived
from instances.schedules.recurrence import DAYS
from instances.web.resources import INSTANCE_PREFIX
from instances.web.volumes.disk_resources import StorageFailure
from instances.web.volumes.resources import VOLUME_PREFIX
from instances.web.volumes.rows import percent_of
from storage.states import SnapshotSource, SyncCause, SyncDirection, SyncState

if TYPE_CHECKING:
    from storage.models import Connection, Sync, SyncSchedule


Text, Whole, Yes = serializers.CharField, serializers.IntegerField, serializers.BooleanField


class ConnectionLogin(serializers.Serializer[Any]):
    """A new access key for the same bucket."""

    key_id = Text(max_length=200)
    secret = Text(max_length=200, trim_whitespace=True, help_text="Stored encrypted; never shown again")


class ConnectionIn(ConnectionLogin):
    """A bucket in S3-compatible object storage.

    Access is tested immediately.
    """

    name = NameText(max_length=60)
    endpoint = Text(max_length=300, help_text="https://s3.eu-central-1.amazonaws.com, or just the host name")
    region = Text(
        max_length=60,
        allow_blank=True,
        default="",
        help_text="Default: us-east-1, which suits most services without regions",
    )
    bucket = Text(max_length=63)
    prefix = Text(
        max_length=300, allow_blank=True, default="", help_text="A folder in the bucket; all paths are relative to it"
    )


@resource
class ConnectionOut:
    """A connection to a bucket, tested when it was saved."""

    id: str
    name: str
    endpoint: str
    region: str
    bucket: str
    prefix: str
    key_id: str
    can_write: Annotated[bool, "false: the key is read-only, so nothing can be copied there"]
    checked_at: datetime
    created_at: datetime


class SyncTermsIn(serializers.Serializer[Any]):
    """What to copy where."""

    connection = Text(help_text="conn_…")
    direction = serializers.ChoiceField(choices=SyncDirection.values, help_text="up: to object storage; down: from it")
    path = Text(max_length=300, allow_blank=True, default="", help_text="A folder on the disk; default: the whole disk")
    folder = Text(max_length=300, allow_blank=True, default="", help_text="Relative to the connection's folder")
    delete_extra = Yes(default=False, help_text="Delete files at the destination that the source doesn't have")


class SyncIn(SyncTermsIn):
    """A sync to start now."""


@resource
class SyncProgress:
    """Progress of the copying."""

    done_bytes: int
    total_bytes: Annotated[int, "0: not known yet"]
    done_files: int
    total_files: Annotated[int, "0: not known yet"]
    percent: int | None
    detail: str
    message: Annotated[dict[str, Any] | None, MessageOut]


@resource
class SyncSubject:
    """The disk."""

    kind: Annotated[str, OneOf(SnapshotSource.values)]
    id: Annotated[str, "vol_… or inst_…"]
    name: str


@resource
class SyncOut:
    """One sync."""

    id: str
    of: SyncSubject
    connection: Annotated[str | None, "null: deleted since"]
    connection_name: str
    direction: Annotated[str, OneOf(SyncDirection.values)]
    path: str
    folder: str
    delete_extra: bool
    cause: Annotated[str, OneOf(SyncCause.values)]
    state: Annotated[str, OneOf(SyncState.values)]
    simulated: Annotated[bool, "Simulated host: nothing was copied"]
    progress: SyncProgress | None
    copied_bytes: int
    copied_files: int
    same_files: Annotated[int, "Unchanged files"]
    deleted_files: int
    failure: StorageFailure | None
    created_at: datetime
    ended_at: datetime | None


class SyncScheduleIn(SyncTermsIn):
    """A schedule: at an interval of hours, or at a time on chosen days."""

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


@resource
class SyncScheduleOut:
    """A schedule of syncs."""

    id: str
    of: SyncSubject
    connection: str
    connection_name: str
    direction: Annotated[str, OneOf(SyncDirection.values)]
    path: str
    folder: str
    delete_extra: bool
    every_hours: int | None
    days: list[str]
    at: str | None
    time_zone: str | None
    next_at: datetime


class ArchiveIn(serializers.Serializer[Any]):
    """Whether to archive the data disk to object storage before its deletion after a long stop."""

    archive = serializers.ChoiceField(choices=ArchiveChoice.values, help_text="account: use the account's default")
    connection = Text(required=False, allow_null=True, help_text="conn_…; required with on")


@resource
class ArchiveOut:
    """Whether and where the data disk is archived."""

    archive: Annotated[str, OneOf(ArchiveChoice.values)]
    connection: Annotated[str | None, "The destination: the instance's own, or the account's default"]
    connection_name: str | None
    folder: Annotated[str | None, "Relative to the connection's folder"]
    archived_at: Annotated[datetime | None, "Since the last stop"]
    begins_at: Annotated[datetime | None, "When data retention ends"]
    deleted_at_latest: Annotated[datetime | None, "Archived or not"]


class ArchiveDefaultIn(serializers.Serializer[Any]):
    """Default archive setting for data disks."""

    connection = Text(allow_null=True, help_text="conn_…; null: nothing is archived")


@resource
class ArchiveDefaultOut:
    """Default archive setting for data disks."""

    connection: str | None
    connection_name: str | None


CONNECTION_PREFIX, SYNC_PREFIX, SCHEDULE_PREFIX = "conn", "sync", "plan"


def connection_resource(connection: "Connection") -> ConnectionOut:
    return ConnectionOut(
        id=public_id(CONNECTION_PREFIX, connection.pk),
        name=connection.name,
        endpoint=connection.endpoint,
        region=connection.region,
        bucket=connection.bucket,
        prefix=connection.prefix,
        key_id=connection.key_id,
        can_write=connection.can_write,
        checked_at=connection.checked_at,
        created_at=connection.created_at,
    )


def sync_resource(sync: "Sync") -> SyncOut:
    return SyncOut(
        id=public_id(SYNC_PREFIX, sync.pk),
        **_terms(sync),
        connection_name=sync.connection_name,
        cause=sync.cause,
        state=sync.state,
        simulated=sync.host.runtime == "simulated",
        progress=_progress(sync),
        copied_bytes=sync.copied_bytes,
        copied_files=sync.copied_files,
        same_files=sync.same_files,
        deleted_files=sync.deleted_files,
        failure=StorageFailure(code=sync.failure_code, **message_fields(sync.failure_message, sync.failure_detail))
        if sync.failure_code
        else None,
        created_at=sync.created_at,
        ended_at=sync.ended_at,
    )


def schedule_resource(schedule: "SyncSchedule") -> SyncScheduleOut:
    return SyncScheduleOut(
        id=public_id(SCHEDULE_PREFIX, schedule.pk),
        **_terms(schedule),
        connection_name=schedule.connection.name,
        every_hours=schedule.every_hours,
        days=[DAYS[day] for day in schedule.days],
        at=schedule.at or None,
        time_zone=schedule.time_zone or None,
        next_at=schedule.next_at,
    )


def archive_resource(instance: Instance) -> ArchiveOut:
    place, begins = archive_place(instance), instance.release_at
    return ArchiveOut(
        archive=instance.archive_choice,
        **vars(archive_default_resource(place)),
        folder=archive_folder(instance) if place and instance.stopped_at else None,
        archived_at=instance.archived_at if is_archived(instance) else None,
        begins_at=begins if place else None,
        deleted_at_latest=begins + ARCHIVE_TRIED if place and begins else begins,
    )


def archive_default_resource(connection: "Connection | None") -> ArchiveDefaultOut:
    if connection is None:
        return ArchiveDefaultOut(connection=None, connection_name=None)
    return ArchiveDefaultOut(connection=public_id(CONNECTION_PREFIX, connection.pk), connection_name=connection.name)


def _terms(row: "Sync | SyncSchedule") -> dict[str, Any]:
    """Return the fields that a sync and a schedule have in common."""
    prefix = VOLUME_PREFIX if row.subject_kind == SnapshotSource.VOLUME else INSTANCE_PREFIX
    return {
        "of": SyncSubject(kind=row.subject_kind, id=public_id(prefix, row.subject_id), name=row.subject_name),
        "connection": None if row.connection_id is None else public_id(CONNECTION_PREFIX, row.connection_id),
        "direction": row.direction,
        "path": row.path,
        "folder": row.folder,
        "delete_extra": row.delete_extra,
    }


def _progress(sync: "Sync") -> SyncProgress | None:
    work = sync.operation
    if sync.state != SyncState.RUNNING or work is None:
        return None
    return SyncProgress(
        done_bytes=work.done_bytes,
        total_bytes=work.total_bytes,
        done_files=work.done_files,
        total_files=work.total_files,
        percent=percent_of(work),
        **message_fields(work.message, work.detail),
    )
