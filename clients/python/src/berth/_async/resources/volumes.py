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
        """List your volumes.

        Args:
            limit: Rows per page
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
        """List your volumes.

        Args:
            name: Lowercase letters, digits and hyphens; mounted at /mnt/<name>
            size_gb: Default: the size of the snapshot
            host: host_…; see GET /storage-hosts
            snapshot: snap_…
            max_daily_rate: Fails if it would cost more per day
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
        """Return one of your volumes."""
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
        """Attach a volume to a stopped instance on its host, which mounts it at its next start.

        If the instance has launch settings, or an image that isn't official, this also requires the scope
        `instances:connect`.

        Args:
            instance: inst_…: a stopped instance on the same host
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
        """Cancel a transfer while it is copying.

        The volume is unchanged, and an unfinished copy is discarded.
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
        """Copy a detached volume to a new one on another host, in any region.

        Returns the new volume, which is charged once it is ready.

        Args:
            host: host_…: another host, in any region
            name: Lowercase letters, digits and hyphens
            max_daily_rate: Fails if it would cost more per day there
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
        """Move a detached volume to another host in its region.

        It keeps its id and name. The old host keeps the data unchanged until the new host has all of it.

        Args:
            host: host_…: another host in the same region; see GET /storage-hosts
            max_daily_rate: Fails if it would cost more per day there
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
            limit: Rows per page
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
        """Expand a volume.

        A volume in use is expanded online if the host's kernel supports it, otherwise at the instance's next
        start. `growth` has the new size and price; with ?dry_run=true nothing else happens.

        Args:
            max_daily_rate: Fails if it would cost more per day
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
        """List syncs of one of your volumes.

        Args:
            limit: Rows per page
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
            path: A folder on the disk; default: the whole disk
            folder: Relative to the connection's folder
            delete_extra: Delete files at the destination that the source doesn't have
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
