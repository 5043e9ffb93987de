# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from berth.models.shared import StoragePlace


class DataSetOut(Struct, frozen=True, kw_only=True):
    """A public data set, which every instance on its host can read."""

    slug: str
    title: str
    description: str
    licence: str
    host: StoragePlace
    size_gb: int
    stored_bytes: int
    path: str
    published_at: datetime


class PaginatedDataSetOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[DataSetOut]
