# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from berth.models.shared import DiskUsage, StorageFailure, StoragePlace, StorageProgress


class PaginatedVolumeMoveOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[VolumeMoveOut]


class PaginatedVolumeOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[VolumeOut]


class VolumeGrowth(Struct, frozen=True, kw_only=True):
    """Size and price of a volume once its host has made it larger.

    Attributes:
        daily_rate: Charged from then on
    """

    size_gb: int
    daily_rate: str


class VolumeMoveOut(Struct, frozen=True, kw_only=True):
    """A transfer of a volume to another host, as a move or a copy.

    Attributes:
        target: Of a move the volume itself
        daily_rate: Of the whole volume there, charged from when it has come
        for_instance: inst_…: the one that runs when it has come
        checksum: Of names, sizes and every chunk; the receiving host has read it all again
        bytes: What had to travel: all but its empty room
        cuts: How often the way broke and the copying went on
        switched_at: From then on it is the new host's
        ended_at: Nothing is left over anywhere
    """

    id: str
    kind: str
    state: str
    source: str
    target: str
    from_host: StoragePlace
    to_host: StoragePlace
    daily_rate: str
    for_instance: str | None
    checksum: str | None
    bytes: int
    cuts: int
    failure: StorageFailure | None
    created_at: datetime
    switched_at: datetime | None
    ended_at: datetime | None


VolumeMoveOutKind = Literal["move", "copy"] | str

VolumeMoveOutState = Literal["copying", "clearing", "undoing", "done", "failed", "cancelled"] | str


class VolumeOut(Struct, frozen=True, kw_only=True):
    """Named storage that outlives instances.

    Attributes:
        path: Where an instance finds it
        attached_to: inst_…: the one instance that writes it
        usage: null until an instance has had it, and on simulated hosts
        growth: While it is being made larger
        move: While it is on its way to another host, or a copy of it is
        snapshot: What it began as
        delete_at: Nobody pays for it: it is deleted then
        lost_at: Its host does not find it; it costs nothing until it is back
        restore_from: Of a lost one: a snapshot that it can be put back to, if there is one
    """

    id: str
    name: str
    state: str
    host: StoragePlace
    size_gb: int
    path: str
    attached_to: str | None
    usage: DiskUsage | None
    progress: StorageProgress | None
    growth: VolumeGrowth | None
    move: VolumeMoveOut | None
    snapshot: str | None
    daily_rate: str
    cost_so_far: str
    delete_at: datetime | None
    lost_at: datetime | None
    restore_from: str | None
    failure: StorageFailure | None
    created_at: datetime


VolumeOutState = Literal["creating", "ready", "restoring", "moving", "copying", "failed", "deleting", "gone"] | str
