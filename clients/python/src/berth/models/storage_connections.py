# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class ConnectionOut(Struct, frozen=True, kw_only=True):
    """A place that was checked when it was saved.

    Attributes:
        can_write: false: the key reads only, and nothing is copied there
    """

    id: str
    name: str
    endpoint: str
    region: str
    bucket: str
    prefix: str
    key_id: str
    can_write: bool
    checked_at: datetime
    created_at: datetime


class PaginatedConnectionOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[ConnectionOut]
