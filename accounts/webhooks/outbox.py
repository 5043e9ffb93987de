"""Outbox of webhooks: an event is written with what caused it, and sent after the commit."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from accounts.models import Webhook, WebhookDelivery, WebhookEvent
from common.db.prepared import Prepared
from common.jobs import enqueue

# Runs at every state change of an instance, so the query is built once.
_LIVE = Prepared(
    lambda user_id: Webhook.objects.filter(user_id=user_id, paused_at=None).only("kinds").order_by("pk"), user_id=UUID
)


def emit(*, user_id: UUID, kind: str, payload: Mapping[str, Any]) -> UUID | None:
    """Queue an event for the user's programs, in the caller's transaction; a rollback drops it.

    `payload` is JSON: ids as public ids, times as RFC 3339 text. Returns the event's id, or None when no webhook
    receives it.
    """
    hooks = [hook.pk for hook in _LIVE.all(user_id=user_id) if not hook.kinds or kind in hook.kinds]
    if not hooks:
        return None
    event = WebhookEvent.objects.create(user_id=user_id, kind=kind, payload=dict(payload))
    WebhookDelivery.objects.bulk_create(WebhookDelivery(webhook_id=hook, event=event) for hook in hooks)
    enqueue("accounts.send_webhooks")
    return event.pk
