# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct


class AlertOut(Struct, frozen=True, kw_only=True):
    """A problem of an instance; `resolution` is over, renter or ended.

    Attributes:
        fault_of: Who caused a GPU fault: renter, host, or platform (unknown)
        seen_at: When it was last observed
    """

    id: str
    instance: str
    name: str
    kind: str
    title: str
    detail: str
    fault_of: str | None
    facts: Any
    raised_at: datetime
    seen_at: datetime
    resolved_at: datetime | None
    resolution: str | None


class PaginatedAlertOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[AlertOut]
