# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `usage_records`."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Resource


class UsageRecords(Resource):
    def get(
        self,
        *,
        after: int | UnsetType = UNSET,
        limit: int | UnsetType = UNSET,
        since: datetime | str | UnsetType = UNSET,
        until: datetime | str | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.RecordsOut:
        """List your charges and earnings as signed usage records.

        The other side of each charge gets the same record.

        Args:
            after: `next` of the previous page
            since: Booked at or after this time
            until: Booked before this time
        """
        return self._send(
            Call(
                "GET",
                "/api/v1/usage-records",
                models.RecordsOut,
                query={"after": after, "limit": limit, "since": since, "until": until},
                timeout=timeout,
            )
        )
