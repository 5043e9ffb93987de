# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

from berth.models.shared import MessageOut


class AnyEventOut(Struct, frozen=True, kw_only=True):
    """One event of one of your instances."""

    instance: str
    name: str
    group: str
    kind: str
    from_state: str | None
    to_state: str | None
    detail: str
    message: MessageOut | None
    actor: str
    at: datetime


Group = Literal["life", "alerts", "money", "spot", "access", "host"] | str


class PaginatedAnyEventOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[AnyEventOut]
