# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from berth.models.shared import StorageFailure, StoragePlace, StorageProgress


class PaginatedSnapshotOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[SnapshotOut]


class SnapshotOrigin(Struct, frozen=True, kw_only=True):
    """Source of the snapshot."""

    kind: str
    id: str
    name: str


class SnapshotOut(Struct, frozen=True, kw_only=True):
    """A point-in-time copy of a disk.

    Attributes:
        stored_bytes: Space used on the host; charged in whole GB
        checksum: Over all non-empty blocks and their positions; empty until ready
        data_set: Published under this name
    """

    id: str
    name: str
    state: str
    host: StoragePlace
    source: SnapshotOrigin
    size_gb: int
    stored_bytes: int
    checksum: str
    progress: StorageProgress | None
    data_set: str | None
    daily_rate: str
    cost_so_far: str
    delete_at: datetime | None
    failure: StorageFailure | None
    created_at: datetime
    ready_at: datetime | None


SnapshotOutState = Literal["creating", "ready", "failed", "deleting", "gone"] | str
