# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `notification_channels`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncPager, AsyncResource
from berth._core.calls import Call


class NotificationChannels(AsyncResource):
    def list(
        self, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedChannelOutList, models.ChannelOut]:
        """List your notification channels, or add one.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call(
                "GET",
                "/api/v1/notification-channels",
                models.PaginatedChannelOutList,
                query={"limit": limit},
                timeout=timeout,
            ),
            models.ChannelOut,
        )

    async def create(
        self,
        *,
        service: models.Service,
        name: str,
        kinds: Sequence[models.ChannelKind] | UnsetType = UNSET,
        url: str | UnsetType = UNSET,
        token: str | UnsetType = UNSET,
        chat_id: str | UnsetType = UNSET,
        secret: str | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.ChannelOut:
        """List your notification channels, or add one.

        Args:
            kinds: Empty: all
            url: Webhook URL (WeCom: or its key); for every service except Telegram. Never returned.
            token: Bot token, for Telegram. Never returned.
            chat_id: Chat ID, for Telegram. Never returned.
            secret: Optional signing secret, for Feishu, Lark, DingTalk or custom JSON. Never returned.
        """
        return await self._send(
            Call(
                "POST",
                "/api/v1/notification-channels",
                models.ChannelOut,
                body={
                    "service": service,
                    "name": name,
                    "kinds": kinds,
                    "url": url,
                    "token": token,
                    "chat_id": chat_id,
                    "secret": secret,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def get(self, channel_id: str, *, timeout: float | None = None) -> models.ChannelOut:
        """Return, change or remove one notification channel."""
        return await self._send(
            Call("GET", f"/api/v1/notification-channels/{self._part(channel_id)}", models.ChannelOut, timeout=timeout)
        )

    async def update(
        self,
        channel_id: str,
        *,
        name: str | UnsetType = UNSET,
        kinds: Sequence[models.ChannelKind] | UnsetType = UNSET,
        paused: bool | UnsetType = UNSET,
        url: str | UnsetType = UNSET,
        token: str | UnsetType = UNSET,
        chat_id: str | UnsetType = UNSET,
        secret: str | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.ChannelOut:
        """Return, change or remove one notification channel.

        Args:
            kinds: Empty: all
            url: Webhook URL (WeCom: or its key). Never returned.
            token: Bot token, for Telegram. Never returned.
            chat_id: Chat ID, for Telegram. Never returned.
            secret: Signing secret, for Feishu, Lark, DingTalk or custom JSON. Never returned.
        """
        return await self._send(
            Call(
                "PATCH",
                f"/api/v1/notification-channels/{self._part(channel_id)}",
                models.ChannelOut,
                body={
                    "name": name,
                    "kinds": kinds,
                    "paused": paused,
                    "url": url,
                    "token": token,
                    "chat_id": chat_id,
                    "secret": secret,
                },
                timeout=timeout,
            )
        )

    async def delete(self, channel_id: str, *, timeout: float | None = None) -> None:
        """Return, change or remove one notification channel."""
        return await self._send(
            Call("DELETE", f"/api/v1/notification-channels/{self._part(channel_id)}", type(None), timeout=timeout)
        )

    def deliveries_list(
        self, channel_id: str, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedNotificationOutList, models.NotificationOut]:
        """List sent and waiting notifications of a channel, newest first; they are kept for 30 days.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call(
                "GET",
                f"/api/v1/notification-channels/{self._part(channel_id)}/deliveries",
                models.PaginatedNotificationOutList,
                query={"limit": limit},
                timeout=timeout,
            ),
            models.NotificationOut,
        )

    async def delivery(
        self, channel_id: str, notification_id: str, *, timeout: float | None = None
    ) -> models.NotificationOut:
        """Return one delivery, such as that of a test."""
        return await self._send(
            Call(
                "GET",
                f"/api/v1/notification-channels/{self._part(channel_id)}/deliveries/{self._part(notification_id)}",
                models.NotificationOut,
                timeout=timeout,
            )
        )

    async def send_again(
        self,
        channel_id: str,
        notification_id: str,
        *,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.NotificationOut:
        """Send a notification once more."""
        return await self._send(
            Call(
                "POST",
                f"/api/v1/notification-channels/{self._part(channel_id)}/deliveries/{self._part(notification_id)}/again",
                models.NotificationOut,
                body={},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def test(
        self, channel_id: str, *, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.NotificationOut:
        """Send a test notification; its delivery has the service's response."""
        return await self._send(
            Call(
                "POST",
                f"/api/v1/notification-channels/{self._part(channel_id)}/test",
                models.NotificationOut,
                body={},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )
