# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class SavedSearch(Struct, frozen=True, kw_only=True):
    """A saved search.

    Attributes:
        query: The same search as parameters of GET /offers; null: no longer readable
    """

    id: str
    name: str
    line: str
    query: str | None
    created_at: datetime


class SavedSearchPage(Struct, frozen=True, kw_only=True):
    """A page of saved searches."""

    next: str | None
    previous: str | None
    results: list[SavedSearch]
