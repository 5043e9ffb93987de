# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class ConnectionOut(Struct, frozen=True, kw_only=True):
    """A connection to a bucket, tested when it was saved.

    Attributes:
        can_write: false: the key is read-only, so nothing can be copied there
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
