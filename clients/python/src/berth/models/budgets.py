# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct


class BudgetOut(Struct, frozen=True, kw_only=True):
    """A budget with what is spent of it.

    Attributes:
        spent: Charged, and used but not charged yet
        set_aside: Held for hours that have begun; pays what is used and not charged
    """

    id: str
    scope: str
    subject: str
    name: str
    period: str
    limit: str
    hard: bool
    spent: str
    set_aside: str
    percent: int
    created_at: datetime


class PaginatedBudgetOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[BudgetOut]


Period = Literal["month", "total"] | str

Scope = Literal["instance", "member", "team"] | str
