# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `live`."""

from __future__ import annotations

from berth import models
from berth._async.resource import AsyncResource
from berth._core.calls import Call


class Live(AsyncResource):
    async def get(self, *, timeout: float | None = None) -> models.Live:
        """Get addresses that notify you as soon as an instance, a volume or your balance changes."""
        return await self._send(Call("GET", "/api/v1/live", models.Live, timeout=timeout))
