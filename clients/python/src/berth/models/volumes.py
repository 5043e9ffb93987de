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
    """Size and price of a volume once its host has expanded it.

    Attributes:
        daily_rate: Charged once expanded
    """

    size_gb: int
    daily_rate: str


class VolumeMoveOut(Struct, frozen=True, kw_only=True):
    """A transfer of a volume to another host, as a move or a copy.

    Attributes:
        target: For a move, the volume itself
        daily_rate: Daily rate of the volume on the new host, charged from its arrival
        for_instance: inst_…: the instance that starts once it has arrived
        checksum: Over names, sizes and all chunks; verified by the receiving host
        bytes: Bytes transferred, excluding empty blocks
        cuts: How often the connection was interrupted and copying resumed
        switched_at: When the new host took over
        ended_at: When cleanup was complete on both hosts
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
        path: Mount path in an instance
        attached_to: inst_…: the instance it is attached to
        usage: null until first attached, and on simulated hosts
        growth: Set while it is being expanded
        move: Set while it is moved or copied to another host
        snapshot: The snapshot it was created from
        delete_at: When it is deleted because it is unpaid
        lost_at: Since when its host can't find it; not charged until it is back
        restore_from: For a lost volume: a snapshot from which it can be restored, if any
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
