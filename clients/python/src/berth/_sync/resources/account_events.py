# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `account_events`."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Pager, Resource


class AccountEvents(Resource):
    def list(
        self,
        *,
        kind: str | UnsetType = UNSET,
        limit: int | UnsetType = UNSET,
        since: datetime | str | UnsetType = UNSET,
        until: datetime | str | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> Pager[models.PaginatedAccountEventOutList, models.AccountEventOut]:
        """List what was done to or with your account, newest first.

        Entries are never changed or removed.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call(
                "GET",
                "/api/v1/account-events",
                models.PaginatedAccountEventOutList,
                query={"kind": kind, "limit": limit, "since": since, "until": until},
                timeout=timeout,
            ),
            models.AccountEventOut,
        )
