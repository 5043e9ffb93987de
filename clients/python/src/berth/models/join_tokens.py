# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class JoinToken(Struct, frozen=True, kw_only=True):
    """A single-use token; `token` and `command` are shown once and null when the response is repeated."""

    id: str
    host_name: str
    region: str
    price_hourly: str
    expires_at: datetime
    token: str | None
    command: str | None
