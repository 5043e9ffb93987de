# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from msgspec import Struct

from berth.models.shared import ImageOut


class PaginatedImageOutList(Struct, frozen=True, kw_only=True):
    next: str | None
    previous: str | None
    results: list[ImageOut]
