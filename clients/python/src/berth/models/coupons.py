# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct


class CouponOut(Struct, frozen=True, kw_only=True):
    """A redeemed coupon.

    Attributes:
        percent: Of the next top-up
        most: Maximum amount of the bonus
        modes: Applies to these; empty: all modes
        gpu_models: Applies to these; empty: all models
        remaining: Available now
        set_aside: On hold
    """

    id: str
    code: str
    kind: str
    state: str
    percent: float | None
    most: str | None
    modes: list[str]
    gpu_models: list[str]
    granted: str
    remaining: str
    set_aside: str
    used: str
    redeemed_at: datetime
    expires_at: datetime | None
    history: list[DrawOut]


CouponOutKind = Literal["fixed", "percent"] | str

CouponOutState = Literal["waiting", "ready", "used_up", "expired"] | str


class DrawOut(Struct, frozen=True, kw_only=True):
    """Use of a coupon by one source.

    Attributes:
        used: Money spent on it
        set_aside: On hold for it
        returned: Returned unused
    """

    source_kind: str
    source_id: str
    since: datetime
    until: datetime | None
    used: str
    set_aside: str
    returned: str


class PaginatedCouponOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[CouponOut]
