# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `join_tokens`."""

from __future__ import annotations

from decimal import Decimal

from berth import models
from berth._async.resource import AsyncResource
from berth._core.calls import Call


class JoinTokens(AsyncResource):
    async def create(
        self,
        *,
        host_name: str,
        region: str,
        price_hourly: Decimal | str,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.JoinToken:
        """Create a token for adding one host; it is valid for 15 minutes.

        Args:
            price_hourly: Initial price per GPU-hour; 0 keeps offers unlisted
        """
        return await self._send(
            Call(
                "POST",
                "/api/v1/join-tokens",
                models.JoinToken,
                body={"host_name": host_name, "region": region, "price_hourly": price_hourly},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )
