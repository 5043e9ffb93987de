# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `sync_schedules`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncPager, AsyncResource
from berth._core.calls import Call


class SyncSchedules(AsyncResource):
    def list(
        self, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedSyncScheduleOutList, models.SyncScheduleOut]:
        """List your sync schedules.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call(
                "GET", "/api/v1/sync-schedules", models.PaginatedSyncScheduleOutList, query={"limit": limit}, timeout=timeout
            ),
            models.SyncScheduleOut,
        )

    async def create(
        self,
        *,
        connection: str,
        direction: models.Direction,
        path: str | UnsetType = UNSET,
        folder: str | UnsetType = UNSET,
        delete_extra: bool | UnsetType = UNSET,
        volume: str | UnsetType | None = UNSET,
        instance: str | UnsetType | None = UNSET,
        every_hours: int | UnsetType | None = UNSET,
        days: Sequence[models.Days] | UnsetType = UNSET,
        at: str | UnsetType | None = UNSET,
        time_zone: str | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.SyncScheduleOut:
        """List your sync schedules.

        Args:
            connection: conn_…
            direction: up: to object storage; down: from it
            path: A folder on the disk; default: the whole disk
            folder: Relative to the connection's folder
            delete_extra: Delete files at the destination that the source doesn't have
            volume: vol_…
            instance: inst_…: its data disk
            at: HH:MM in the time zone
        """
        return await self._send(
            Call(
                "POST",
                "/api/v1/sync-schedules",
                models.SyncScheduleOut,
                body={
                    "connection": connection,
                    "direction": direction,
                    "path": path,
                    "folder": folder,
                    "delete_extra": delete_extra,
                    "volume": volume,
                    "instance": instance,
                    "every_hours": every_hours,
                    "days": days,
                    "at": at,
                    "time_zone": time_zone,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def remove(self, schedule_id: str, *, timeout: float | None = None) -> None:
        """Delete a schedule.

        Running syncs continue.
        """
        return await self._send(
            Call("DELETE", f"/api/v1/sync-schedules/{self._part(schedule_id)}", type(None), timeout=timeout)
        )
