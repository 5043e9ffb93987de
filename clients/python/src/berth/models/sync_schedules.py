# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from berth.models.shared import SyncSubject


class PaginatedSyncScheduleOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[SyncScheduleOut]


class SyncScheduleOut(Struct, frozen=True, kw_only=True):
    """A schedule of syncs."""

    id: str
    of: SyncSubject
    connection: str
    connection_name: str
    direction: str
    path: str
    folder: str
    delete_extra: bool
    every_hours: int | None
    days: list[str]
    at: str | None
    time_zone: str | None
    next_at: datetime
