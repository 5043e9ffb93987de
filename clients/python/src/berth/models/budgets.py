# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct


class BudgetOut(Struct, frozen=True, kw_only=True):
    """A budget with its current spending.

    Attributes:
        spent: Charged usage, and usage not charged yet
        set_aside: On hold for hours in progress; covers usage not charged yet
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
