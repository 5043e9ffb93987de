# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from msgspec import Struct


class ArchiveDefaultOut(Struct, frozen=True, kw_only=True):
    """Where the data disks of all instances without a choice of their own are archived."""

    connection: str | None
    connection_name: str | None
