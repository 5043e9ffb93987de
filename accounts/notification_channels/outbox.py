"""Outbox of notifications: written in the transaction of what happened, sent after the commit."""

from collections.abc import Iterable
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection

from accounts.models import NotificationChannel, NotificationDelivery, WebhookEvent
from common.jobs import enqueue

_KEEP: Final = "SELECT id FROM accounts_notificationchannel WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE"


def queue_notifications(*, event: WebhookEvent, channel_ids: Iterable[UUID]) -> None:
    """Queue an event for those of these channels that still exist, in the caller's transaction; a rollback drops it.

    They are locked against removal, which would otherwise end the caller's transaction at its commit.
    """
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, [list(channel_ids)])
        kept = [channel_id for (channel_id,) in cursor.fetchall()]
    NotificationDelivery.objects.bulk_create(NotificationDelivery(channel_id=one, event=event) for one in kept)
    enqueue("accounts.send_notifications")


def notify(*, user_id: UUID, kind: str, subject: str, body: str) -> None:
    """Queue a notice that webhooks do not carry, in the caller's transaction, in the words of the mail that says it.

    The mail's last paragraph may be the address of a page of ours.
    """
    live = NotificationChannel.objects.filter(user_id=user_id, paused_at=None).only("kinds").order_by("pk")
    channels = [channel.pk for channel in live if not channel.kinds or kind in channel.kinds]
    if not channels:
        return
    *lines, last = body.split("\n\n")
    if not last.startswith(f"{settings.SITE_URL}/"):
        lines, last = [*lines, last], f"{settings.SITE_URL}/"
    payload = {"title": subject, "lines": lines, "path": last.removeprefix(settings.SITE_URL)}
    event = WebhookEvent.objects.create(user_id=user_id, kind=kind, payload=payload)
    queue_notifications(event=event, channel_ids=channels)
