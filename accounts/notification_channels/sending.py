"""Sends queued notifications.

Each is claimed first and its result is stored at once: a worker that dies loses none, and doubles at most those that it was
sending at that moment. Such a repetition says in words that it may be one.
"""

import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Q, Value, Window
from django.db.models.functions import Coalesce, RowNumber
from django.utils.translation import override

from accounts.constants import (
    CHANNEL_STOPPED_AFTER,
    CHANNEL_STOPPED_AFTER_REFUSALS,
    NOTIFICATION_ANSWER_BYTES,
    NOTIFICATION_BATCH,
    NOTIFICATION_CLAIM,
    NOTIFICATION_LONGEST_REST,
    NOTIFICATION_PASS_S,
    NOTIFICATION_PASSES,
    NOTIFICATION_REST,
    NOTIFICATION_SENDERS,
    NOTIFICATION_TIMEOUT_S,
    NOTIFICATION_TRIED,
    NOTIFICATION_TRIES_KEPT,
    NOTIFICATION_WAITS,
)
from accounts.models import NotificationChannel, NotificationDelivery
from accounts.notification_channels.credentials import unseal, without_secrets
from accounts.notification_channels.formats.parts import Answer, ChannelRequest, Credentials, Verdict, refused
from accounts.notification_channels.messages import build_notification
from accounts.notification_channels.services import SERVICES
from accounts.notification_channels.stops import stop_channel
from common import change_counters
from common.db.transactions import use_case
from common.encryption import CannotDecrypt
from common.http.outbound import OutboundFault, OutboundResponse, send_request
from common.printable import cut_printable

logger = logging.getLogger(__name__)

Transport = Callable[..., OutboundResponse]
# After these, the service may have accepted the message all the same.
_UNCERTAIN: Final = frozenset({"timeout", "broken"})
_ANSWER_CHARS: Final = 300


@dataclass(frozen=True)
class Job:
    """One claimed delivery with the request that carries it; without one, its credentials cannot be read."""

    delivery: NotificationDelivery
    request: ChannelRequest | None
    credentials: Credentials


@dataclass(frozen=True)
class Outcome:
    """Result of one attempt."""

    at: datetime
    verdict: Verdict
    status: int | None = None
    answer: str = ""
    took_ms: int = 0


def send_notifications(*, now: datetime, transport: Transport = send_request) -> int:
    """Send due notifications, one at a time of each channel, and return how many were delivered."""
    begun, delivered = time.monotonic(), 0
    for _ in range(NOTIFICATION_PASSES):
        due = _claim(now) if time.monotonic() - begun < NOTIFICATION_PASS_S else []
        if not due:
            break
        delivered += _send(due, now, transport)
    return delivered


def _send(due: Sequence[NotificationDelivery], now: datetime, transport: Transport) -> int:
    """Send in parallel, so that a slow service delays no other, and store each result as soon as it is known."""
    jobs = [_job(delivery, now) for delivery in due]
    delivered = 0
    with ThreadPoolExecutor(max_workers=min(len(jobs), NOTIFICATION_SENDERS)) as senders:
        running = {senders.submit(_attempt, job, now, transport): job for job in jobs}
        for done in as_completed(running):
            outcome = done.result()
            _record(running[done].delivery, outcome)
            delivered += not outcome.verdict.fault
    return delivered


def _claim(now: datetime) -> Sequence[NotificationDelivery]:
    """Claim the next due delivery of each channel by setting its next attempt."""
    awake = Q(channel__rests_until=None) | Q(channel__rests_until__lte=now)
    is_due = awake & Q(due_at__lte=now, channel__paused_at=None)
    turn = Window(RowNumber(), partition_by=F("channel_id"), order_by=[F("due_at").asc(), F("pk").asc()])
    waiting = NotificationDelivery.objects.filter(is_due).annotate(turn=turn).filter(turn=1)
    next_ones = list(waiting.order_by("due_at", "pk").values_list("pk", flat=True)[:NOTIFICATION_BATCH])
    with use_case():
        free = NotificationDelivery.objects.select_for_update(of=("self",), no_key=True, skip_locked=True)
        found = free.filter(is_due, pk__in=next_ones).select_related("channel__user", "event")
        mine = list(found.order_by("due_at", "pk"))
        NotificationDelivery.objects.filter(pk__in=[delivery.pk for delivery in mine]).update(
            due_at=now + NOTIFICATION_CLAIM, attempts=F("attempts") + 1, uncertain=True
        )
    for delivery in mine:
        delivery.attempts += 1
    return mine


def _job(delivery: NotificationDelivery, now: datetime) -> Job:
    """Word the notification in its user's language, and build the request."""
    channel = delivery.channel
    with override(channel.user.language):
        note = build_notification(delivery.event, repeated=delivery.uncertain)
    try:
        credentials = unseal(channel)
    except CannotDecrypt:
        return Job(delivery, None, Credentials())
    return Job(delivery, SERVICES[channel.service].request(note, credentials, at=now), credentials)


def _attempt(job: Job, now: datetime, transport: Transport) -> Outcome:
    """Make one attempt, without the database: it runs beside others in a thread."""
    begun, request = time.monotonic(), job.request
    if request is None:
        return Outcome(now, refused("secret_lost"))
    try:
        reply = transport(
            "POST",
            request.url,
            headers=request.headers,
            body=request.body,
            timeout_s=NOTIFICATION_TIMEOUT_S,
            most_bytes=NOTIFICATION_ANSWER_BYTES,
        )
    except OutboundFault as fault:
        return Outcome(now, Verdict(fault.code), took_ms=_ms(begun))
    answer = Answer(reply.status, reply.headers, reply.body)
    text = cut_printable(without_secrets(answer.text(), job.credentials), _ANSWER_CHARS)
    return Outcome(now, SERVICES[job.delivery.channel.service].verdict(answer), reply.status, text, _ms(begun))


def _ms(begun: float) -> int:
    return round((time.monotonic() - begun) * 1000)


def _record(delivery: NotificationDelivery, outcome: Outcome) -> None:
    """Store the outcome, unless another worker has claimed the delivery since: then its attempt counts."""
    fault = outcome.verdict.fault
    one_try = {
        "at": f"{outcome.at:%Y-%m-%dT%H:%M:%SZ}",
        "status": outcome.status,
        "fault": fault,
        "ms": outcome.took_ms,
    }
    with use_case():
        NotificationDelivery.objects.filter(
            pk=delivery.pk, attempts=delivery.attempts, due_at__isnull=False, delivered_at=None
        ).update(
            status=outcome.status,
            fault=fault,
            answer=outcome.answer,
            uncertain=fault in _UNCERTAIN,
            tries=[*delivery.tries, one_try][-NOTIFICATION_TRIES_KEPT:],
            **_next_state(delivery, outcome),
        )
        _record_health(delivery.channel_id, outcome)
        change_counters.notify_change(f"user:{delivery.channel.user_id.hex}")


def _next_state(delivery: NotificationDelivery, outcome: Outcome) -> dict[str, Any]:
    verdict = outcome.verdict
    if not verdict.fault:
        return {"due_at": None, "delivered_at": outcome.at}
    due_at = outcome.at + (_rest(verdict) if verdict.fault == "rate_limited" else wait_after(delivery.attempts))
    if verdict.fault == "rejected" or due_at > delivery.first_due_at + NOTIFICATION_TRIED:
        return {"due_at": None, "gave_up_at": outcome.at}
    return {"due_at": due_at}


def wait_after(attempts: int) -> timedelta:
    """Return the delay before the next attempt after this many."""
    return NOTIFICATION_WAITS[min(attempts, len(NOTIFICATION_WAITS)) - 1]


def _rest(verdict: Verdict) -> timedelta:
    if verdict.retry_after_s is None:
        return NOTIFICATION_REST
    return min(max(timedelta(seconds=verdict.retry_after_s), timedelta(seconds=1)), NOTIFICATION_LONGEST_REST)


def _record_health(channel_id: UUID, outcome: Outcome) -> None:
    """Record how the channel is doing, and pause it when its service refuses it for good or nothing has succeeded."""
    channel, verdict = NotificationChannel.objects.filter(pk=channel_id), outcome.verdict
    if not verdict.fault:
        ailing = Q(failing_since__isnull=False) | Q(refusals__gt=0) | Q(rests_until__isnull=False)
        channel.filter(ailing).update(failing_since=None, refusals=0, rests_until=None)
        return
    if verdict.fault == "rejected":  # the message's own fault
        return
    if verdict.fault == "rate_limited":
        channel.update(rests_until=outcome.at + _rest(verdict))
        return
    channel.update(
        failing_since=Coalesce("failing_since", Value(outcome.at)), refusals=F("refusals") + 1 if verdict.refused else 0
    )
    hopeless = Q(refusals__gte=CHANNEL_STOPPED_AFTER_REFUSALS) | Q(failing_since__lte=outcome.at - CHANNEL_STOPPED_AFTER)
    if channel.filter(hopeless, paused_at=None).update(paused_at=outcome.at, stopped_for=verdict.fault):
        logger.info("notification channel %s is paused: %s", channel_id, verdict.fault)
        stop_channel(channel_id, verdict.fault)
