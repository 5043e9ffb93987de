# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `seals`."""

from __future__ import annotations

from berth import models
from berth._async.resource import AsyncResource
from berth._core.calls import Call


class Seals(AsyncResource):
    async def list(self, *, timeout: float | None = None) -> tuple[models.SealOut, ...]:
        """List the latest seals of the ledger, newest first.

        With a stored head, you can check later whether anything before it has changed.
        """
        return await self._send(Call("GET", "/api/v1/seals", tuple[models.SealOut, ...], timeout=timeout))
