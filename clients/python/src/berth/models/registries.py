# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class PaginatedRegistryOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[RegistryOut]


class RegistryOut(Struct, frozen=True, kw_only=True):
    """A saved login.

    The password is never shown.
    """

    id: str
    host: str
    username: str
    checked_at: datetime
    created_at: datetime
