"""Sends queued webhook deliveries.

Each is claimed first: a worker that dies causes a repetition, never a loss.
"""

import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Case, F, IntegerField, Q, Value, When, Window
from django.db.models.functions import Coalesce, RowNumber

from accounts.constants import (
    WEBHOOK_ANSWER_BYTES,
    WEBHOOK_AT_ONCE,
    WEBHOOK_BATCH,
    WEBHOOK_CLAIM,
    WEBHOOK_DROP_BATCH,
    WEBHOOK_EVENTS_KEPT,
    WEBHOOK_PAUSED_AFTER,
    WEBHOOK_SENDERS,
    WEBHOOK_TIMEOUT_S,
    WEBHOOK_TRIED,
    WEBHOOK_TRIES_KEPT,
    WEBHOOK_WAITS,
)
from accounts.models import Webhook, WebhookDelivery, WebhookEvent
from accounts.webhooks.signed_message import body_of, headers_of
from common import change_counters
from common.db.transactions import use_case
from common.encryption import CannotDecrypt
from common.http.outbound import OutboundFault, send_request

logger = logging.getLogger(__name__)

_OK = range(200, 300)
_REDIRECTS = range(300, 400)


@dataclass(frozen=True)
class Outcome:
    """Result of one attempt; `fault` is empty when it was delivered."""

    at: datetime
    status: int | None = None
    fault: str = ""
    answer: str = ""
    took_ms: int = 0


def send_webhooks(*, now: datetime) -> int:
    """Send due deliveries in parallel, so that a slow receiver delays no other; return how many succeeded."""
    due = _claim(now)
    if not due:
        return 0
    with ThreadPoolExecutor(max_workers=min(len(due), WEBHOOK_SENDERS)) as senders:
        outcomes = list(senders.map(lambda delivery: _attempt(delivery, now), due))
    for delivery, outcome in zip(due, outcomes, strict=True):
        _record(delivery, outcome)
    return sum(not outcome.fault for outcome in outcomes)


def delete_old_webhook_events(*, now: datetime) -> int:
    """Delete events that are older than a month, with their deliveries."""
    with use_case():
        old = WebhookEvent.objects.filter(at__lte=now - WEBHOOK_EVENTS_KEPT).order_by("at")[:WEBHOOK_DROP_BATCH]
        return WebhookEvent.objects.filter(pk__in=list(old.values_list("pk", flat=True))).delete()[0]


def _claim(now: datetime) -> Sequence[WebhookDelivery]:
    """Claim due deliveries, a few of each webhook, by setting their next attempt."""
    is_due = Q(due_at__lte=now, webhook__paused_at=None)
    with use_case():
        free = WebhookDelivery.objects.select_for_update(of=("self",), no_key=True, skip_locked=True)
        mine = list(
            free.filter(is_due, pk__in=_next_ones(is_due)).select_related("webhook", "event").order_by("due_at", "pk")
        )
        WebhookDelivery.objects.filter(pk__in=[delivery.pk for delivery in mine]).update(
            due_at=now + WEBHOOK_CLAIM, attempts=F("attempts") + 1
        )
    for delivery in mine:
        delivery.attempts += 1
    return mine


def _next_ones(is_due: Q) -> list[UUID]:
    at_once = Case(
        When(webhook__failing_since=None, then=Value(WEBHOOK_AT_ONCE)), default=Value(1), output_field=IntegerField()
    )
    position = Window(RowNumber(), partition_by=F("webhook_id"), order_by=[F("due_at").asc(), F("pk").asc()])
    waiting = (
        WebhookDelivery.objects.filter(is_due)
        .annotate(position=position, at_once=at_once)
        .filter(position__lte=F("at_once"))
    )
    return list(waiting.order_by("due_at", "pk").values_list("pk", flat=True)[:WEBHOOK_BATCH])


def _attempt(delivery: WebhookDelivery, now: datetime) -> Outcome:
    """Make one attempt, without the database: it runs beside others in a thread."""
    begun = time.monotonic()
    try:
        body = body_of(delivery.event)
        headers = headers_of(delivery.webhook, delivery.event, body, at=now)
        answer = send_request(
            "POST",
            delivery.webhook.url,
            headers=headers,
            body=body,
            timeout_s=WEBHOOK_TIMEOUT_S,
            most_bytes=WEBHOOK_ANSWER_BYTES,
        )
    except OutboundFault as fault:
        return Outcome(now, None, fault.code, fault.detail, _ms(begun))
    except CannotDecrypt:
        return Outcome(now, None, "secret_lost", "The secret cannot be read any more: rotate it.", _ms(begun))
    text = answer.body.decode("utf-8", "replace").replace("\x00", "")
    return Outcome(now, answer.status, _fault_of(answer.status), text, _ms(begun))


def _fault_of(status: int) -> str:
    if status in _OK:
        return ""
    return "redirect" if status in _REDIRECTS else "status"


def _ms(begun: float) -> int:
    return round((time.monotonic() - begun) * 1000)


def _record(delivery: WebhookDelivery, outcome: Outcome) -> None:
    """Store the outcome, unless another worker has claimed the delivery since: then its attempt counts."""
    one_try = {
        "at": f"{outcome.at:%Y-%m-%dT%H:%M:%SZ}",
        "status": outcome.status,
        "fault": outcome.fault,
        "ms": outcome.took_ms,
    }
    with use_case():
        WebhookDelivery.objects.filter(pk=delivery.pk, attempts=delivery.attempts, due_at__isnull=False).update(
            status=outcome.status,
            fault=outcome.fault,
            answer=outcome.answer[:300],
            tries=[*delivery.tries, one_try][-WEBHOOK_TRIES_KEPT:],
            **_next_state(delivery, outcome),
        )
        _record_health(delivery.webhook_id, outcome)
        change_counters.notify_change(f"user:{delivery.webhook.user_id.hex}")


def _next_state(delivery: WebhookDelivery, outcome: Outcome) -> dict[str, datetime | None]:
    if not outcome.fault:
        return {"due_at": None, "delivered_at": outcome.at}
    due_at = outcome.at + wait_after(delivery.attempts)
    if due_at > delivery.first_due_at + WEBHOOK_TRIED:
        return {"due_at": None, "gave_up_at": outcome.at}
    return {"due_at": due_at}


def wait_after(attempts: int) -> timedelta:
    """Return the delay before the next attempt after this many."""
    return WEBHOOK_WAITS[min(attempts, len(WEBHOOK_WAITS)) - 1]


def _record_health(webhook_id: UUID, outcome: Outcome) -> None:
    hook = Webhook.objects.filter(pk=webhook_id)
    if not outcome.fault:
        hook.exclude(failing_since=None).update(failing_since=None)
        return
    hook.update(failing_since=Coalesce("failing_since", Value(outcome.at)))
    stopped = hook.filter(paused_at=None, failing_since__lte=outcome.at - WEBHOOK_PAUSED_AFTER).update(paused_at=outcome.at)
    if stopped:
        logger.info("webhook %s is paused: nothing but failures for %s", webhook_id, WEBHOOK_PAUSED_AFTER)
