# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from msgspec import Struct


class ArchiveDefaultOut(Struct, frozen=True, kw_only=True):
    """Default archive setting for data disks."""

    connection: str | None
    connection_name: str | None
