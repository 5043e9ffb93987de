"""Parsing of requests and forms about object storage into arguments of services."""

from typing import Any
from uuid import UUID

from common.errors import wrong_field
from common.ids import parse_public_id
from instances.object_sync.schedules import SyncRecurrence
from instances.schedules.recurrence import DAYS
from instances.web.responses import instance_id_of
from storage.object_sync.syncs import SyncRequest
from storage.states import SnapshotSource


def parse_sync_request(wanted: dict[str, Any]) -> SyncRequest:
    return SyncRequest(wanted["direction"], wanted["path"], wanted["folder"], wanted["delete_extra"])


def parse_connection_id(text: str | None, *, needed: bool = False) -> UUID | None:
    """Parse the id of a connection.

    Raises NotFound, or InvalidInput where one is `needed` and missing.
    """
    if not text:
        if needed:
            raise wrong_field("connection", "Name a connection: GET /storage-connections lists yours.")
        return None
    return parse_public_id("conn", text)


def parse_disk(wanted: dict[str, Any]) -> tuple[str, UUID]:
    """Parse the disk, either a `volume` or an `instance`.

    Raises InvalidInput or NotFound.
    """
    volume, instance = wanted.get("volume"), wanted.get("instance")
    if bool(volume) == bool(instance):
        raise wrong_field("volume", "Name either a volume or an instance.")
    if volume:
        return SnapshotSource.VOLUME, parse_public_id("vol", volume)
    return SnapshotSource.DISK, instance_id_of(str(instance))


def parse_schedule(wanted: dict[str, Any]) -> dict[str, Any]:
    kind, subject_id = parse_disk(wanted)
    days = tuple(DAYS.index(day) for day in wanted.get("days") or ())
    return {
        "subject_kind": kind,
        "subject_id": subject_id,
        "connection_id": parse_connection_id(wanted["connection"], needed=True),
        "sync_request": parse_sync_request(wanted),
        "rhythm": SyncRecurrence(wanted.get("every_hours"), days, wanted.get("at"), wanted["time_zone"]),
    }
