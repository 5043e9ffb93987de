# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class NewToken(Struct, frozen=True, kw_only=True):
    """A token with its text, shown only once.

    Attributes:
        prefix: The token's text begins with berth_<prefix>_
        token: null in a repeated response
    """

    id: str
    name: str
    prefix: str
    scopes: list[str]
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    token: str | None


class PaginatedTokenList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[Token]


class Token(Struct, frozen=True, kw_only=True):
    """A token without its text.

    Attributes:
        prefix: The token's text begins with berth_<prefix>_
    """

    id: str
    name: str
    prefix: str
    scopes: list[str]
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
