# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `events`."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncPager, AsyncResource
from berth._core.calls import Call


class Events(AsyncResource):
    def list(
        self,
        *,
        group: str | UnsetType = UNSET,
        instance: str | UnsetType = UNSET,
        limit: int | UnsetType = UNSET,
        since: datetime | str | UnsetType = UNSET,
        until: datetime | str | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> AsyncPager[models.PaginatedAnyEventOutList, models.AnyEventOut]:
        """List what happened to your instances, newest first.

        Args:
            instance: inst_…
            limit: Rows per page
        """
        return self._pages(
            Call(
                "GET",
                "/api/v1/events",
                models.PaginatedAnyEventOutList,
                query={"group": group, "instance": instance, "limit": limit, "since": since, "until": until},
                timeout=timeout,
            ),
            models.AnyEventOut,
        )
