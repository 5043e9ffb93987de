# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `wallet`."""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncPager, AsyncResource
from berth._core.calls import Call


class Wallet(AsyncResource):
    async def get(self, *, timeout: float | None = None) -> models.WalletOut:
        """Return your wallet."""
        return await self._send(Call("GET", "/api/v1/wallet", models.WalletOut, timeout=timeout))

    def entries(
        self,
        *,
        kind: str | UnsetType = UNSET,
        limit: int | UnsetType = UNSET,
        since: datetime | str | UnsetType = UNSET,
        source: str | UnsetType = UNSET,
        until: datetime | str | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> AsyncPager[models.EntriesOut, models.EntryOut]:
        """List the statement of your wallet, newest first.

        Args:
            since: Posted at or after this time
            source: An instance ID: the instance, its disk, its kept GPUs
            until: Posted before this time
        """
        return self._pages(
            Call(
                "GET",
                "/api/v1/wallet/entries",
                models.EntriesOut,
                query={"kind": kind, "limit": limit, "since": since, "source": source, "until": until},
                timeout=timeout,
            ),
            models.EntryOut,
        )

    async def entries_csv(
        self,
        *,
        kind: str | UnsetType = UNSET,
        since: datetime | str | UnsetType = UNSET,
        source: str | UnsetType = UNSET,
        until: datetime | str | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> str:
        """Return the statement of your wallet as CSV: UTF-8 with a byte order mark, amounts as exact decimals.

        Args:
            since: Posted at or after this time
            source: An instance ID: the instance, its disk, its kept GPUs
            until: Posted before this time
        """
        return await self._send(
            Call(
                "GET",
                "/api/v1/wallet/entries.csv",
                str,
                query={"kind": kind, "since": since, "source": source, "until": until},
                timeout=timeout,
            )
        )

    async def entries_get(self, line_id: str, *, timeout: float | None = None) -> models.LineOut:
        """Return one statement entry with the details of its calculation."""
        return await self._send(
            Call("GET", f"/api/v1/wallet/entries/{self._part(line_id)}", models.LineOut, timeout=timeout)
        )

    async def spend(
        self,
        *,
        by: str | UnsetType = UNSET,
        since: str | UnsetType = UNSET,
        until: str | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.SpendOut:
        """Return your spending by day, mode or source, net of refunds.

        Args:
            since: First day (UTC); default: 30 days ago
            until: Last day (UTC); default: today
        """
        return await self._send(
            Call(
                "GET",
                "/api/v1/wallet/spend",
                models.SpendOut,
                query={"by": by, "since": since, "until": until},
                timeout=timeout,
            )
        )
