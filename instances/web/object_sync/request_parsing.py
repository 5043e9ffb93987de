"""Parsing of requests and forms about object storage into arguments of services."""

from typing import Any
from uuid import UUID

from common.errors import wrong_field
from common.ids import parse_public_id
from instances.object_sync.schedules import Rhythm
from instances.schedules.recurrence import DAYS
from instances.web.responses import instance_id_of
from storage.object_sync.syncs import Wish
from storage.states import SnapshotSource


def wish_of(wanted: dict[str, Any]) -> Wish:
    return Wish(wanted["direction"], wanted["path"], wanted["folder"], wanted["delete_extra"])


def connection_id_of(text: str | None, *, needed: bool = False) -> UUID | None:
    """Parse the id of a connection.

    Raises NotFound, or InvalidInput where one is `needed` and missing.
    """
    if not text:
        if needed:
            raise wrong_field("connection", "Name a connection: GET /storage-connections lists yours.")
        return None
    return parse_public_id("conn", text)


def subject_of(wanted: dict[str, Any]) -> tuple[str, UUID]:
    """Parse the disk, either a `volume` or an `instance`.

    Raises InvalidInput or NotFound.
    """
    volume, instance = wanted.get("volume"), wanted.get("instance")
    if bool(volume) == bool(instance):
        raise wrong_field("volume", "Name either a volume or an instance.")
    if volume:
        return SnapshotSource.VOLUME, parse_public_id("vol", volume)
    return SnapshotSource.DISK, instance_id_of(str(instance))


def order_of_schedule(wanted: dict[str, Any]) -> dict[str, Any]:
    kind, subject_id = subject_of(wanted)
    days = tuple(DAYS.index(day) for day in wanted.get("days") or ())
    return {
        "subject_kind": kind,
        "subject_id": subject_id,
        "connection_id": connection_id_of(wanted["connection"], needed=True),
        "wish": wish_of(wanted),
        "rhythm": Rhythm(wanted.get("every_hours"), days, wanted.get("at"), wanted["time_zone"]),
    }
