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
        """Your entries in the wait list.

        Args:
            limit: Rows in a page
            state: Only these; left out: all, ended ones for 30 days
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
        """Your entries in the wait list.

        Args:
            q: What to wait for, as in the search line of the market
            image: Slug or img_…; left out: as in the search
            max_price: The most per GPU and hour, disk included
            data_disk_gb: Left out: as in the search
            ssh_key_ids: key_…; left out: all of the account
            name: Of the instance that is rented
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
        """Return one of your entries in the wait list."""
        return self._send(Call("GET", f"/api/v1/watches/{self._part(watch_id)}", models.WatchOut, timeout=timeout))

    def cancel(self, watch_id: str, *, timeout: float | None = None) -> models.WatchOut:
        """Cancel an entry, which releases what is held for it.

        Repeating it changes nothing.
        """
        return self._send(Call("DELETE", f"/api/v1/watches/{self._part(watch_id)}", models.WatchOut, timeout=timeout))
