"""Stripe's webhook events: verified by signature, stored once each, and applied separately.

An event only says which object to check. The object is fetched again, so neither order, repetition nor age of events
matters; a sweep applies events that were stored but not applied.
"""

import json
import logging
from datetime import datetime, timedelta

import redis
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.models import F

from billing.errors import StripeRefused, StripeUnreachable
from billing.models import StripeEvent
from billing.payments.payments import sync_intent, sync_session
from billing.payouts.stripe_connect import sync_account
from billing.payouts.transfers import sync_transfer
from billing.stripe import client
from billing.stripe.objects import EventHead, Unreadable, event_of
from billing.stripe.signatures import BadSignature, verify
from common import clock
from common.db.transactions import use_case
from common.jobs import enqueue

logger = logging.getLogger(__name__)

REFUSALS = ("forged", "stale", "malformed")
_COUNTED_FOR_S = 90 * 86_400
_FIRST_WAIT = timedelta(seconds=30)
_LONGEST_WAIT = timedelta(hours=6)
_BATCH = 500


# One statement for the first and every later delivery; xmax is 0 in a row that this statement inserted.
_REMEMBER = """
INSERT INTO billing_stripeevent AS event
    (id, kind, object_id, created_at, received_at, retry_at, deliveries, tries, outcome)
VALUES (%s, %s, %s, %s, %s, %s, %s, 0, '')
ON CONFLICT (id) DO UPDATE SET deliveries = event.deliveries + excluded.deliveries
RETURNING xmax = 0
"""


class EventRefused(Exception):
    """Raised for an event whose signature is wrong or whose content cannot be read."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def receive_event(*, body: bytes, signature: str) -> bool:
    """Store a signed event and return whether it is new.

    Raises:
        EventRefused: the event is not valid; only a counter is kept then.
    """
    try:
        verify(body=body, header=signature, secrets=settings.STRIPE_WEBHOOK_SECRETS, now_s=clock.now().timestamp())
        head = event_of(json.loads(body))
    except BadSignature as error:
        raise _refused(error.reason) from error
    except (Unreadable, ValueError, RecursionError) as error:
        raise _refused("malformed") from error
    is_new = store_event(head=head, deliveries=1)
    if is_new:
        enqueue("billing.apply_stripe_event", head.id)
    return is_new


def store_event(*, head: EventHead, deliveries: int) -> bool:
    """Store an event once per id and return whether it is new.

    `deliveries` is 0 for an event from Stripe's list.
    """
    now = clock.now()
    with use_case(), connection.cursor() as cursor:
        cursor.execute(_REMEMBER, [head.id, head.kind, head.subject, head.created_at, now, now, deliveries])
        (is_new,) = cursor.fetchone()
    return bool(is_new)


def apply_event(*, event_id: str) -> None:
    """Apply one stored event on the hint after its receipt; the sweep would do it later."""
    event = StripeEvent.objects.filter(pk=event_id, applied_at=None).first()
    if event is not None:
        _apply_about(event.object_id)


def apply_events(*, now: datetime) -> int:
    """Apply stored events, each object once, and return how many objects.

    Stops when Stripe does not answer.
    """
    if not client.is_configured():
        return 0
    waiting = StripeEvent.objects.filter(applied_at=None, retry_at__lte=now).order_by("received_at")
    subjects = dict.fromkeys(waiting.values_list("object_id", flat=True)[:_BATCH])
    try:
        return sum(_apply_about(subject) for subject in subjects)
    except StripeUnreachable:
        logger.warning("events of Stripe wait: it does not answer")
        return 0


def refusal_counts() -> dict[str, int]:
    """Return how many events were refused, by reason, since the counters were reset."""
    try:
        found = cache.get_many([_counter(reason) for reason in REFUSALS])
    except redis.RedisError:
        return dict.fromkeys(REFUSALS, 0)
    return {reason: int(found.get(_counter(reason), 0)) for reason in REFUSALS}


def _apply_about(subject: str) -> bool:
    """Apply an object's present state, then close the events about it that arrived before it was fetched."""
    began = clock.now()
    try:
        outcome = _sync_object(subject)
    except StripeRefused as error:
        _postpone(subject, error.detail)
        return False
    with use_case():
        waiting = StripeEvent.objects.filter(object_id=subject, applied_at=None, received_at__lte=began)
        waiting.update(applied_at=clock.now(), outcome=outcome[:200])
    return True


def _sync_object(subject: str) -> str:
    if subject.startswith("pi_"):
        return sync_intent(intent_id=subject)
    if subject.startswith("cs_"):
        return sync_session(session_id=subject)
    if subject.startswith("acct_"):
        return sync_account(account_id=subject)
    if subject.startswith("tr_"):
        return sync_transfer(transfer_id=subject)
    return "nothing to look at"


def _postpone(subject: str, why: str) -> None:
    """Postpone an object that Stripe does not know or does not show to us, with increasing intervals."""
    now = clock.now()
    with use_case():
        for event in StripeEvent.objects.filter(object_id=subject, applied_at=None):
            wait = min(_FIRST_WAIT * 2 ** min(event.tries, 20), _LONGEST_WAIT)
            StripeEvent.objects.filter(pk=event.pk).update(tries=F("tries") + 1, retry_at=now + wait, outcome=why[:200])


def _refused(reason: str) -> EventRefused:
    logger.warning("a message to the webhook of Stripe was refused: %s", reason)
    try:
        if not cache.add(_counter(reason), 1, timeout=_COUNTED_FOR_S):
            cache.incr(_counter(reason))
    except (redis.RedisError, ValueError):
        logger.warning("the refusal was not counted")
    return EventRefused(reason)


def _counter(reason: str) -> str:
    return f"stripe:refused:{reason}"
