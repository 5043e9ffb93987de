# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct


class OrderOut(Struct, frozen=True, kw_only=True):
    """One order: a decision that cost or may cost money.

    Attributes:
        amount: Paid upfront; negative: refunded
    """

    id: str
    at: datetime
    kind: str
    title: str
    source_kind: str
    source_id: str
    billing_mode: str
    amount: str
    hourly_rate: str | None


OrderOutKind = Literal["rent", "start", "term", "renewal", "conversion", "early_end", "top_up", "coupon"] | str


class PaginatedOrderOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[OrderOut]
