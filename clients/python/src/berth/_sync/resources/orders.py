# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `orders`."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Pager, Resource


class Orders(Resource):
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
    ) -> Pager[models.PaginatedOrderOutList, models.OrderOut]:
        """List your orders, newest first.

        Args:
            limit: Rows per page
            since: At or after this time
            source: Only for this instance: inst_…
            until: Before this time
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
