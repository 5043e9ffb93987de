# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `volumes`."""

from __future__ import annotations

from decimal import Decimal

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncPager, AsyncResource
from berth._core.calls import Call


class Volumes(AsyncResource):
    def list(
        self, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedVolumeOutList, models.VolumeOut]:
        """Your volumes.

        Args:
            limit: Rows in a page
        """
        return self._pages(
            Call("GET", "/api/v1/volumes", models.PaginatedVolumeOutList, query={"limit": limit}, timeout=timeout),
            models.VolumeOut,
        )

    async def create(
        self,
        *,
        name: str,
        size_gb: int | UnsetType | None = UNSET,
        host: str | UnsetType | None = UNSET,
        snapshot: str | UnsetType | None = UNSET,
        max_daily_rate: Decimal | str | UnsetType | None = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.VolumeOut:
        """Your volumes.

        Args:
            name: Lower-case letters, digits and hyphens: it is found at /mnt/<name>
            size_gb: Left out: the snapshot's
            host: host_…; GET /storage-hosts lists those that take volumes
            snapshot: snap_…
            max_daily_rate: Refuse when a day of it would cost more
        """
        return await self._send(
            Call(
                "POST",
                "/api/v1/volumes",
                models.VolumeOut,
                body={
                    "name": name,
                    "size_gb": size_gb,
                    "host": host,
                    "snapshot": snapshot,
                    "max_daily_rate": max_daily_rate,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def get(self, volume_id: str, *, timeout: float | None = None) -> models.VolumeOut:
        """One of your volumes."""
        return await self._send(Call("GET", f"/api/v1/volumes/{self._part(volume_id)}", models.VolumeOut, timeout=timeout))

    async def delete(self, volume_id: str, *, timeout: float | None = None) -> models.VolumeOut:
        """Delete a volume with everything on it.

        Repeating it changes nothing.
        """
        return await self._send(
            Call("DELETE", f"/api/v1/volumes/{self._part(volume_id)}", models.VolumeOut, timeout=timeout)
        )

    async def attach(
        self,
        volume_id: str,
        *,
        instance: str,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.VolumeOut:
        """Attach a volume to a stopped instance of its host, which mounts it at its next start.

        If the instance has launch settings, or an image that is not the market's own, this also needs the scope
        `instances:connect`.

        Args:
            instance: inst_…: one of the same host, stopped
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/volumes/{self._part(volume_id)}/attach",
                models.VolumeOut,
                body={"instance": instance},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def cancel_move(
        self, volume_id: str, *, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.VolumeOut:
        """Cancel a transfer while it copies.

        The volume is as before, and an unfinished copy is discarded.
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/volumes/{self._part(volume_id)}/cancel-move",
                models.VolumeOut,
                body={},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def copy(
        self,
        volume_id: str,
        *,
        host: str,
        name: str,
        max_daily_rate: Decimal | str | UnsetType | None = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.VolumeOut:
        """Copy a volume that is not attached into a new one on another host, of any region.

        It returns the new volume, which is charged once it is ready.

        Args:
            host: host_…: another one, of any region
            name: Lower-case letters, digits and hyphens
            max_daily_rate: Refuse when a day of it there would cost more
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/volumes/{self._part(volume_id)}/copy",
                models.VolumeOut,
                body={"host": host, "name": name, "max_daily_rate": max_daily_rate},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def detach(
        self, volume_id: str, *, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.VolumeOut:
        """Detach a volume from its instance, which must be stopped."""
        return await self._send(
            Call(
                "POST",
                f"/api/v1/volumes/{self._part(volume_id)}/detach",
                models.VolumeOut,
                body={},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def move(
        self,
        volume_id: str,
        *,
        host: str,
        max_daily_rate: Decimal | str | UnsetType | None = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.VolumeOut:
        """Move a volume that is not attached to another host of its region.

        It keeps its id and name. The old host keeps all data unchanged until the other has all of it.

        Args:
            host: host_…: another one of the same region; GET /storage-hosts lists those that take volumes
            max_daily_rate: Refuse when a day of it there would cost more
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/volumes/{self._part(volume_id)}/move",
                models.VolumeOut,
                body={"host": host, "max_daily_rate": max_daily_rate},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def moves(
        self, volume_id: str, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedVolumeMoveOutList, models.VolumeMoveOut]:
        """List all transfers from or to a volume, newest first.

        Args:
            limit: Rows in a page
        """
        return self._pages(
            Call(
                "GET",
                f"/api/v1/volumes/{self._part(volume_id)}/moves",
                models.PaginatedVolumeMoveOutList,
                query={"limit": limit},
                timeout=timeout,
            ),
            models.VolumeMoveOut,
        )

    async def resize(
        self,
        volume_id: str,
        *,
        size_gb: int,
        max_daily_rate: Decimal | str | UnsetType | None = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.VolumeOut:
        """Make a volume larger.

        In use it grows where the host's kernel can do that, else at the instance's next start. `growth` says which
        size and price it will have; with ?dry_run=true nothing else happens.

        Args:
            max_daily_rate: Refuse when a day of it would cost more
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/volumes/{self._part(volume_id)}/resize",
                models.VolumeOut,
                body={"size_gb": size_gb, "max_daily_rate": max_daily_rate},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def syncs_list(
        self, volume_id: str, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedSyncOutList, models.SyncOut]:
        """Syncs of one of your volumes.

        Args:
            limit: Rows in a page
        """
        return self._pages(
            Call(
                "GET",
                f"/api/v1/volumes/{self._part(volume_id)}/syncs",
                models.PaginatedSyncOutList,
                query={"limit": limit},
                timeout=timeout,
            ),
            models.SyncOut,
        )

    async def syncs_create(
        self,
        volume_id: str,
        *,
        connection: str,
        direction: models.Direction,
        path: str | UnsetType = UNSET,
        folder: str | UnsetType = UNSET,
        delete_extra: bool | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.SyncOut:
        """Copy a volume, or a folder of it, to or from object storage.

        Args:
            connection: conn_…
            direction: up: to object storage; down: from it
            path: A folder of the disk; left out: all of it
            folder: In the connection's own folder
            delete_extra: Delete at the destination what the source does not have
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/volumes/{self._part(volume_id)}/syncs",
                models.SyncOut,
                body={
                    "connection": connection,
                    "direction": direction,
                    "path": path,
                    "folder": folder,
                    "delete_extra": delete_extra,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )
