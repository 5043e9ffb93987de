# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `archive_default`."""

from __future__ import annotations

from berth import models
from berth._async.resource import AsyncResource
from berth._core.calls import Call


class ArchiveDefault(AsyncResource):
    async def get(self, *, timeout: float | None = None) -> models.ArchiveDefaultOut:
        """Return the default archive setting for data disks."""
        return await self._send(Call("GET", "/api/v1/archive-default", models.ArchiveDefaultOut, timeout=timeout))

    async def set(self, *, connection: str | None, timeout: float | None = None) -> models.ArchiveDefaultOut:
        """Set the default archive setting for data disks; instances can override it.

        Args:
            connection: conn_…; null: nothing is archived
        """
        return await self._send(
            Call(
                "PUT", "/api/v1/archive-default", models.ArchiveDefaultOut, body={"connection": connection}, timeout=timeout
            )
        )
