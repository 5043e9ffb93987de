# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `syncs`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncPager, AsyncResource
from berth._core.calls import Call


class Syncs(AsyncResource):
    def list(
        self, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedSyncOutList, models.SyncOut]:
        """List all your syncs, newest first.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call("GET", "/api/v1/syncs", models.PaginatedSyncOutList, query={"limit": limit}, timeout=timeout),
            models.SyncOut,
        )

    async def get(self, sync_id: str, *, timeout: float | None = None) -> models.SyncOut:
        """Return one of your syncs."""
        return await self._send(Call("GET", f"/api/v1/syncs/{self._part(sync_id)}", models.SyncOut, timeout=timeout))

    async def cancel(
        self, sync_id: str, *, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.SyncOut:
        """Cancel a sync.

        Files already copied are kept.
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/syncs/{self._part(sync_id)}/cancel",
                models.SyncOut,
                body={},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )
