# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `orders`."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncPager, AsyncResource
from berth._core.calls import Call


class Orders(AsyncResource):
    def list(
        self,
        *,
        billing_mode: str | UnsetType = UNSET,
        kind: str | UnsetType = UNSET,
        limit: int | UnsetType = UNSET,
        since: datetime | str | UnsetType = UNSET,
        source: str | UnsetType = UNSET,
        until: datetime | str | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> AsyncPager[models.PaginatedOrderOutList, models.OrderOut]:
        """List your decisions that cost or may cost money, newest first.

        Args:
            limit: Rows in a page
            since: From this moment on
            source: Of this instance: inst_…
            until: Before this moment
        """
        return self._pages(
            Call(
                "GET",
                "/api/v1/orders",
                models.PaginatedOrderOutList,
                query={
                    "billing_mode": billing_mode,
                    "kind": kind,
                    "limit": limit,
                    "since": since,
                    "source": source,
                    "until": until,
                },
                timeout=timeout,
            ),
            models.OrderOut,
        )
