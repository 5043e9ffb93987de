# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `snapshots`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncPager, AsyncResource
from berth._core.calls import Call


class Snapshots(AsyncResource):
    def list(
        self, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedSnapshotOutList, models.SnapshotOut]:
        """List your snapshots.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call("GET", "/api/v1/snapshots", models.PaginatedSnapshotOutList, query={"limit": limit}, timeout=timeout),
            models.SnapshotOut,
        )

    async def create(
        self,
        *,
        volume: str | UnsetType | None = UNSET,
        instance: str | UnsetType | None = UNSET,
        name: str | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.SnapshotOut:
        """List your snapshots.

        Args:
            volume: vol_…
            instance: inst_…
        """
        return await self._send(
            Call(
                "POST",
                "/api/v1/snapshots",
                models.SnapshotOut,
                body={"volume": volume, "instance": instance, "name": name},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def get(self, snapshot_id: str, *, timeout: float | None = None) -> models.SnapshotOut:
        """Return one of your snapshots."""
        return await self._send(
            Call("GET", f"/api/v1/snapshots/{self._part(snapshot_id)}", models.SnapshotOut, timeout=timeout)
        )

    async def delete(self, snapshot_id: str, *, timeout: float | None = None) -> models.SnapshotOut:
        """Return one of your snapshots."""
        return await self._send(
            Call("DELETE", f"/api/v1/snapshots/{self._part(snapshot_id)}", models.SnapshotOut, timeout=timeout)
        )

    async def restore(
        self, snapshot_id: str, *, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.SnapshotOut:
        """Restore a volume, or the data disk of a stopped instance, from a snapshot.

        Whatever was written since is lost.
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/snapshots/{self._part(snapshot_id)}/restore",
                models.SnapshotOut,
                body={},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )
