# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `hosts`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncResource
from berth._core.calls import Call


class Hosts(AsyncResource):
    async def list(self, *, timeout: float | None = None) -> models.HostPage:
        """List your hosts."""
        return await self._send(Call("GET", "/api/v1/hosts", models.HostPage, timeout=timeout))

    async def get(self, host_id: str, *, timeout: float | None = None) -> models.HostDetail:
        """Return one of your hosts with its last events."""
        return await self._send(Call("GET", f"/api/v1/hosts/{self._part(host_id)}", models.HostDetail, timeout=timeout))

    async def earnings(
        self,
        host_id: str,
        *,
        by: str | UnsetType = UNSET,
        since: str | UnsetType = UNSET,
        until: str | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.HostEarningsOut:
        """Return the earnings of one of your hosts."""
        return await self._send(
            Call(
                "GET",
                f"/api/v1/hosts/{self._part(host_id)}/earnings",
                models.HostEarningsOut,
                query={"by": by, "since": since, "until": until},
                timeout=timeout,
            )
        )

    async def listing(
        self,
        host_id: str,
        *,
        offers: Sequence[models.ListingChange] | UnsetType = UNSET,
        listed_until: datetime | str | UnsetType | None = UNSET,
        timeout: float | None = None,
    ) -> models.Host:
        """Change prices of your host, and which of its offers are listed.

        Args:
            listed_until: null: no end date. Can't be before the committed end of existing leases
        """
        return await self._send(
            Call(
                "PATCH",
                f"/api/v1/hosts/{self._part(host_id)}/listing",
                models.Host,
                body={"offers": offers, "listed_until": listed_until},
                timeout=timeout,
            )
        )

    async def maintenance_list(self, host_id: str, *, timeout: float | None = None) -> models.MaintenancePage:
        """List announced maintenance of your host."""
        return await self._send(
            Call("GET", f"/api/v1/hosts/{self._part(host_id)}/maintenance", models.MaintenancePage, timeout=timeout)
        )

    async def maintenance(
        self,
        host_id: str,
        *,
        category: models.MaintenanceCategory | UnsetType = UNSET,
        starts_at: datetime | str | UnsetType = UNSET,
        ends_at: datetime | str | UnsetType = UNSET,
        detail: str | UnsetType = UNSET,
        draining: bool | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.MaintenanceReply:
        """Announce maintenance with a category and two times, or pause new rentals now with `{"draining": true}`.

        Args:
            draining: true: pause new rentals; running instances continue
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/hosts/{self._part(host_id)}/maintenance",
                models.MaintenanceReply,
                body={
                    "category": category,
                    "starts_at": starts_at,
                    "ends_at": ends_at,
                    "detail": detail,
                    "draining": draining,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def maintenance_cancel(
        self, host_id: str, maintenance_id: str, *, timeout: float | None = None
    ) -> models.MaintenanceWindow:
        """Cancel announced maintenance, or end it early."""
        return await self._send(
            Call(
                "DELETE",
                f"/api/v1/hosts/{self._part(host_id)}/maintenance/{self._part(maintenance_id)}",
                models.MaintenanceWindow,
                timeout=timeout,
            )
        )

    async def reliability(self, host_id: str, *, timeout: float | None = None) -> models.Reliability:
        """Return a host's public ledger of the last 30 days, and the score that follows from it."""
        return await self._send(
            Call("GET", f"/api/v1/hosts/{self._part(host_id)}/reliability", models.Reliability, timeout=timeout)
        )

    async def revoke_agent(
        self, host_id: str, *, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.Host:
        """Revoke the agent's key until the host is added again with a new one; idempotent.

        The host counts as not responding: its instances keep running but are not charged, and there are no new
        rentals.
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/hosts/{self._part(host_id)}/revoke-agent",
                models.Host,
                body={},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def self_test(self, host_id: str, *, timeout: float | None = None) -> models.SelfTests:
        """List the last self-tests of your host."""
        return await self._send(
            Call("GET", f"/api/v1/hosts/{self._part(host_id)}/self-test", models.SelfTests, timeout=timeout)
        )

    async def self_test_ask(
        self, host_id: str, *, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.SelfTestShape:
        """Request a self-test of your host; one that is in progress is returned instead."""
        return await self._send(
            Call(
                "POST",
                f"/api/v1/hosts/{self._part(host_id)}/self-test",
                models.SelfTestShape,
                body={},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def earnings_all(
        self,
        *,
        by: str | UnsetType = UNSET,
        since: str | UnsetType = UNSET,
        until: str | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.EarningsOut:
        """Return the earnings of all your hosts."""
        return await self._send(
            Call(
                "GET",
                "/api/v1/hosts/earnings",
                models.EarningsOut,
                query={"by": by, "since": since, "until": until},
                timeout=timeout,
            )
        )
