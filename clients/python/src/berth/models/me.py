# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class Profile(Struct, frozen=True, kw_only=True):
    """The user who makes the request."""

    id: str
    email: str
    display_name: str
    is_host_owner: bool
    date_joined: datetime
