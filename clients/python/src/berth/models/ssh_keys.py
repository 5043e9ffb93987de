# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class Key(Struct, frozen=True, kw_only=True):
    """An SSH public key.

    Attributes:
        fingerprint: As ssh-keygen -l prints it
    """

    id: str
    name: str
    kind: str
    public_key: str
    fingerprint: str
    created_at: datetime


class PaginatedKeyList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[Key]
