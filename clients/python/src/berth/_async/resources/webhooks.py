# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `webhooks`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncPager, AsyncResource
from berth._core.calls import Call


class Webhooks(AsyncResource):
    def list(
        self, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedWebhookOutList, models.WebhookOut]:
        """List your webhooks, or add one.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call("GET", "/api/v1/webhooks", models.PaginatedWebhookOutList, query={"limit": limit}, timeout=timeout),
            models.WebhookOut,
        )

    async def create(
        self,
        *,
        url: str,
        kinds: Sequence[models.WebhookKind] | UnsetType = UNSET,
        description: str | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.WebhookWithSecret:
        """List your webhooks, or add one.

        Args:
            url: https URL on a public address
            kinds: Empty: all
        """
        return await self._send(
            Call(
                "POST",
                "/api/v1/webhooks",
                models.WebhookWithSecret,
                body={"url": url, "kinds": kinds, "description": description},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def get(self, webhook_id: str, *, timeout: float | None = None) -> models.WebhookOut:
        """Return, change or remove one webhook."""
        return await self._send(
            Call("GET", f"/api/v1/webhooks/{self._part(webhook_id)}", models.WebhookOut, timeout=timeout)
        )

    async def update(
        self,
        webhook_id: str,
        *,
        url: str | UnsetType = UNSET,
        kinds: Sequence[models.WebhookKind] | UnsetType = UNSET,
        description: str | UnsetType = UNSET,
        paused: bool | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.WebhookOut:
        """Return, change or remove one webhook.

        Args:
            kinds: Empty: all
        """
        return await self._send(
            Call(
                "PATCH",
                f"/api/v1/webhooks/{self._part(webhook_id)}",
                models.WebhookOut,
                body={"url": url, "kinds": kinds, "description": description, "paused": paused},
                timeout=timeout,
            )
        )

    async def delete(self, webhook_id: str, *, timeout: float | None = None) -> None:
        """Return, change or remove one webhook."""
        return await self._send(Call("DELETE", f"/api/v1/webhooks/{self._part(webhook_id)}", type(None), timeout=timeout))

    def deliveries_list(
        self, webhook_id: str, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedDeliveryOutList, models.DeliveryOut]:
        """List sent and waiting deliveries of a webhook, newest first; they are kept for 30 days.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call(
                "GET",
                f"/api/v1/webhooks/{self._part(webhook_id)}/deliveries",
                models.PaginatedDeliveryOutList,
                query={"limit": limit},
                timeout=timeout,
            ),
            models.DeliveryOut,
        )

    async def send_again(
        self,
        webhook_id: str,
        delivery_id: str,
        *,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.DeliveryOut:
        """Send a delivery once more, with the same id and body."""
        return await self._send(
            Call(
                "POST",
                f"/api/v1/webhooks/{self._part(webhook_id)}/deliveries/{self._part(delivery_id)}/again",
                models.DeliveryOut,
                body={},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def rotate(
        self, webhook_id: str, *, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.WebhookWithSecret:
        """Rotate the secret of a webhook; for a day, messages are also signed with the previous one."""
        return await self._send(
            Call(
                "POST",
                f"/api/v1/webhooks/{self._part(webhook_id)}/rotate",
                models.WebhookWithSecret,
                body={},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def test(
        self, webhook_id: str, *, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.DeliveryOut:
        """Send a test message of kind webhook.test."""
        return await self._send(
            Call(
                "POST",
                f"/api/v1/webhooks/{self._part(webhook_id)}/test",
                models.DeliveryOut,
                body={},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )
