# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from msgspec import Struct


class StorageHostOut(Struct, frozen=True, kw_only=True):
    """A host that can store volumes.

    Attributes:
        gb_day: Price per GB-day
    """

    id: str
    name: str
    region: str
    simulated: bool
    disk_kind: str
    disk_free_gb: int
    gb_day: str
