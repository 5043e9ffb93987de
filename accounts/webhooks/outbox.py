"""The outbox of webhooks: an event is written down with what happened, and goes out once that is committed."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from accounts.models import Webhook, WebhookDelivery, WebhookEvent
from common.db.prepared import Prepared
from common.jobs import enqueue

# On the way of every move of an instance: the query is built once.
_LIVE = Prepared(
    lambda user_id: Webhook.objects.filter(user_id=user_id, paused_at=None).only("kinds").order_by("pk"), user_id=UUID
)


def emit(*, user_id: UUID, kind: str, payload: Mapping[str, Any]) -> UUID | None:
    """Tell the person's programs, in the caller's transaction: what is rolled back is told to nobody.

    `payload` is JSON: ids as public ids, times as RFC 3339 text. Answers the event's id, or None when nobody listens.
    """
    hooks = [hook.pk for hook in _LIVE.all(user_id=user_id) if not hook.kinds or kind in hook.kinds]
    if not hooks:
        return None
    event = WebhookEvent.objects.create(user_id=user_id, kind=kind, payload=dict(payload))
    WebhookDelivery.objects.bulk_create(WebhookDelivery(webhook_id=hook, event=event) for hook in hooks)
    enqueue("accounts.send_webhooks")
    return event.pk
