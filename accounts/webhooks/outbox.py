"""Outbox of webhooks: an event is written with what caused it, and sent after the commit."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection
from django.db.models import Func, OuterRef, TextField, Value
from django.db.models.functions import Cast

from accounts.models import NotificationChannel, User, Webhook, WebhookDelivery, WebhookEvent
from accounts.notification_channels.outbox import queue_notifications
from common.db.prepared import Prepared
from common.jobs import enqueue

# Runs at every state change of an instance, so the query is built once, and one query finds webhooks and channels.
_LIVE = Prepared(
    lambda user_id: (
        User.objects.filter(pk=user_id)
        .annotate(hooks=_live_ones(Webhook), channels=_live_ones(NotificationChannel))
        .only("pk")
        .order_by()
    ),
    user_id=UUID,
)
_KEEP: Final = "SELECT id FROM accounts_webhook WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE"


def emit(*, user_id: UUID, kind: str, payload: Mapping[str, Any]) -> UUID | None:
    """Queue an event for the user's programs and notification channels, in the caller's transaction.

    A rollback drops it. `payload` is JSON: ids as public ids, times as RFC 3339 text. Returns the event's id, or None
    when nothing receives it.
    """
    user = next(iter(_LIVE.all(user_id=user_id)), None)
    hooks, channels = (_receivers(user, name, kind) for name in ("hooks", "channels"))
    if not hooks and not channels:
        return None
    event = WebhookEvent.objects.create(user_id=user_id, kind=kind, payload=dict(payload))
    if hooks:
        with connection.cursor() as cursor:  # a removal until the commit would otherwise end the caller's transaction
            cursor.execute(_KEEP, [hooks])
            kept = [hook for (hook,) in cursor.fetchall()]
        WebhookDelivery.objects.bulk_create(WebhookDelivery(webhook_id=hook, event=event) for hook in kept)
        enqueue("accounts.send_webhooks")
    if channels:
        queue_notifications(event=event, channel_ids=channels)
    return event.pk


def _live_ones(model: type[Webhook] | type[NotificationChannel]) -> ArraySubquery:
    """Return each live one's id and kinds as one text: they are arrays of an array otherwise."""
    live = model._default_manager.filter(user_id=OuterRef("pk"), paused_at=None).order_by("pk")
    kinds = Func("kinds", Value(" "), function="array_to_string", output_field=TextField())
    packed = Func(Value(" "), Cast("pk", TextField()), kinds, function="concat_ws", output_field=TextField())
    return ArraySubquery(live.annotate(packed=packed).values("packed"))


def _receivers(user: User | None, name: str, kind: str) -> list[UUID]:
    packed = [text.split() for text in getattr(user, name, ())]
    return [UUID(one) for one, *kinds in packed if not kinds or kind in kinds]
