# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `storage_hosts`."""

from __future__ import annotations

from berth import models
from berth._async.resource import AsyncResource
from berth._core.calls import Call


class StorageHosts(AsyncResource):
    async def list(self, *, timeout: float | None = None) -> tuple[models.StorageHostOut, ...]:
        """List the hosts that can store volumes now, with their price per GB."""
        return await self._send(Call("GET", "/api/v1/storage-hosts", tuple[models.StorageHostOut, ...], timeout=timeout))
