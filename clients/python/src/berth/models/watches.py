# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct


class PaginatedWatchOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[WatchOut]


WatchAction = Literal["tell", "rent"] | str


class WatchOut(Struct, frozen=True, kw_only=True):
    """A waitlist entry and its outcome.

    Attributes:
        ahead: Number of entries ahead of it; null once it no longer waits
        max_price: Per GPU-hour, disk included
        held: On hold for it now: one hour of all its GPUs at the max price
        offer: The offer that became available
        instance: The rented instance
        reason: Why it failed: image_gone, keys_gone, account_closed, search_unreadable
    """

    id: str
    q: str
    action: str
    state: str
    ahead: int | None
    gpu_count: int
    image: str | None
    max_price: str | None
    data_disk_gb: int
    name: str
    held: str
    offer: str | None
    instance: str | None
    reason: str | None
    created_at: datetime
    expires_at: datetime
    ended_at: datetime | None


WatchOutState = Literal["waiting", "told", "rented", "failed", "expired", "cancelled"] | str
