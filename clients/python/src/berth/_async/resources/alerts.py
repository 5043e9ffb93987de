# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `alerts`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncPager, AsyncResource
from berth._core.calls import Call


class Alerts(AsyncResource):
    def list(
        self,
        *,
        instance: str | UnsetType = UNSET,
        limit: int | UnsetType = UNSET,
        open: bool | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> AsyncPager[models.PaginatedAlertOutList, models.AlertOut]:
        """List the alerts of your instances, newest first; closed ones are kept for 180 days.

        Args:
            instance: inst_…
            limit: Rows per page
            open: Only open alerts
        """
        return self._pages(
            Call(
                "GET",
                "/api/v1/alerts",
                models.PaginatedAlertOutList,
                query={"instance": instance, "limit": limit, "open": open},
                timeout=timeout,
            ),
            models.AlertOut,
        )

    async def resolve(
        self,
        alert_id: str,
        *,
        mute: bool | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.AlertOut:
        """Close an alert.

        It is raised again after a day if the problem is still there, or never when muted.
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/alerts/{self._part(alert_id)}/resolve",
                models.AlertOut,
                body={"mute": mute},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )
