# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `watches`."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Pager, Resource


class Watches(Resource):
    def list(
        self, *, limit: int | UnsetType = UNSET, state: Sequence[str] | UnsetType = UNSET, timeout: float | None = None
    ) -> Pager[models.PaginatedWatchOutList, models.WatchOut]:
        """List your waitlist entries.

        Args:
            limit: Rows per page
            state: Filter by state; default: all, including those that ended within 30 days
        """
        return self._pages(
            Call(
                "GET",
                "/api/v1/watches",
                models.PaginatedWatchOutList,
                query={"limit": limit, "state": state},
                timeout=timeout,
            ),
            models.WatchOut,
        )

    def create(
        self,
        *,
        q: str,
        action: models.WatchAction | UnsetType = UNSET,
        image: str | UnsetType = UNSET,
        max_price: Decimal | str | UnsetType | None = UNSET,
        data_disk_gb: int | UnsetType | None = UNSET,
        ssh_key_ids: Sequence[str] | UnsetType | None = UNSET,
        name: str | UnsetType = UNSET,
        expires_in_hours: int | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.WatchOut:
        """List your waitlist entries.

        Args:
            q: What to wait for, as a search query
            image: Slug or img_…; default: as in the search
            max_price: Max price per GPU-hour, disk included
            data_disk_gb: Default: as in the search
            ssh_key_ids: key_…; default: all keys of the account
            name: Name of the rented instance
        """
        return self._send(
            Call(
                "POST",
                "/api/v1/watches",
                models.WatchOut,
                body={
                    "q": q,
                    "action": action,
                    "image": image,
                    "max_price": max_price,
                    "data_disk_gb": data_disk_gb,
                    "ssh_key_ids": ssh_key_ids,
                    "name": name,
                    "expires_in_hours": expires_in_hours,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def get(self, watch_id: str, *, timeout: float | None = None) -> models.WatchOut:
        """Return one of your waitlist entries."""
        return self._send(Call("GET", f"/api/v1/watches/{self._part(watch_id)}", models.WatchOut, timeout=timeout))

    def cancel(self, watch_id: str, *, timeout: float | None = None) -> models.WatchOut:
        """Cancel a waitlist entry and release its held funds.

        Idempotent.
        """
        return self._send(Call("DELETE", f"/api/v1/watches/{self._part(watch_id)}", models.WatchOut, timeout=timeout))
