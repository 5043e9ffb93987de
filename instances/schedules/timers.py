"""Timers, weekly starts and stops, idle stops, and the end of long waits for GPUs; run by sweeps."""

import logging
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from accounts.webhooks.outbox import emit
from common.db.transactions import joining, use_case
from common.errors import Busy, DomainError, StaleRow
from common.ids import public_id
from common.messages.rendering import message_fields
from instances.constants import LINE_LONGEST, SCHEDULE_TRIED
from instances.core.event_messages import At, LineLeft, WasIdle
from instances.core.money_messages import refusal
from instances.core.selectors import any_instance
from instances.core.timer_selectors import idle_instances, timers_due
from instances.core.transitions import SYSTEM, record_event, touch_renter
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import halt_instance
from instances.models import Instance
from instances.release.services import release_instance
from instances.schedules.recurrence import Occurrence, entry_of, last_until, next_after
from instances.states import InstanceState
from marketplace.errors import OfferClosed
from marketplace.spot_market.selectors import waiting_longer_than

logger = logging.getLogger(__name__)

_JUST_BEFORE: Final = timedelta(microseconds=1)
_RETRIED: Final = (OfferClosed, Busy)


def due_moment(instance: Instance, after: datetime) -> datetime | None:
    """Return the next moment at which a timer or the weekly schedule is due."""
    coming = next_occurrence(instance, after)
    moments = [instance.timed_stop_at, instance.timed_release_at, coming.at if coming else None]
    return min((moment for moment in moments if moment is not None), default=None)


def next_occurrence(instance: Instance, after: datetime) -> Occurrence | None:
    """Return the next occurrence of the weekly schedule."""
    return next_after([entry_of(row) for row in instance.weekly], instance.time_zone, after) if instance.weekly else None


def run_due_timers(*, now: datetime) -> int:
    """Carry out timers and schedules that are due; return how many instances had any.

    A failure is recorded as an event, and the next occurrence is scheduled.
    """
    return sum(_run_isolated(instance_id, now) for instance_id in timers_due(now))


def stop_idle(*, now: datetime) -> int:
    """Stop instances that have been idle for as long as their rule allows; return how many."""
    return sum(_stop_idle(instance_id, now) for instance_id in idle_instances(now))


def end_long_waits(*, now: datetime) -> int:
    """Stop instances that have waited for GPUs too long and release their holds; return how many."""
    holders = waiting_longer_than(before=now - LINE_LONGEST)
    detail = LineLeft(days=LINE_LONGEST.days)
    return sum(halt_instance(instance_id=holder, kind="line_left", detail=detail) for holder in holders)


def _run_isolated(instance_id: UUID, now: datetime) -> bool:
    """Carry out the action and schedule the next one in one transaction.

    So none is done twice, and none is lost when a worker dies.
    """
    try:
        with joining():
            _run_due(any_instance(instance_id), now)
    except StaleRow:
        return False  # the renter, a report or another worker was faster: the row is read again
    except DomainError as error:
        return _record_failure(instance_id, now, error)
    except Exception:  # one broken row must not stop those behind it
        logger.exception("the timers of instance %s were passed over", instance_id)
        return False
    return True


def _run_due(instance: Instance, now: datetime) -> None:
    due_at = instance.due_at
    if due_at is None or due_at > now:
        raise StaleRow("Somebody else did it.")
    if instance.timed_release_at is not None and instance.timed_release_at <= now:
        _release(instance)
    elif instance.timed_stop_at is not None and instance.timed_stop_at <= now:
        _stop(instance, "timed_stop", instance.timed_stop_at)
    else:
        _run_weekly(instance, due_at, now)
    _advance(instance, due_at, now)


def _run_weekly(instance: Instance, due_at: datetime, now: datetime) -> None:
    """Carry out the last occurrence only, after an outage, unless the renter has decided otherwise since."""
    entries = [entry_of(row) for row in instance.weekly]
    last = last_until(entries, instance.time_zone, after=due_at - _JUST_BEFORE, until=now) if entries else None
    if last is None:
        return
    if last.action == "start":
        _start(instance, last.at)
    else:
        _stop(instance, "weekly_stop", last.at)


def _start(instance: Instance, at: datetime) -> None:
    """Start the instance, or queue it when its GPUs are taken.

    Nothing is done if it runs, or was stopped by hand after `at`.
    """
    stop_requested_at = instance.stop_requested_at
    if "start" not in instance.actions or (stop_requested_at is not None and stop_requested_at > at):
        return
    record_event(instance, kind="weekly_start", actor=SYSTEM, detail=At(at=at))
    started = start_instance(renter=instance.renter, instance_id=instance.pk, wait=True)
    _emit_webhook(started, "start", at)


def _stop(instance: Instance, kind: str, at: datetime) -> None:
    if instance.started_at is not None and instance.started_at > at:
        return
    if halt_instance(instance_id=instance.pk, kind=kind, detail=At(at=at)):
        _emit_webhook(instance, "stop", at)


def _release(instance: Instance) -> None:
    assert instance.timed_release_at is not None
    if instance.locked:
        record_event(instance, kind="timed_release_locked", actor=SYSTEM)
        touch_renter(instance)
        return
    record_event(instance, kind="timed_release", actor=SYSTEM, detail=At(at=instance.timed_release_at))
    release_instance(renter=instance.renter, instance_id=instance.pk)
    _emit_webhook(instance, "release", instance.timed_release_at)


def _advance(instance: Instance, due_at: datetime, now: datetime) -> None:
    """Schedule what comes next.

    Raises StaleRow when the renter has changed the timers meanwhile, which rolls everything back.
    """
    for name in ("timed_stop_at", "timed_release_at"):
        moment = getattr(instance, name)
        if moment is not None and moment <= now:
            setattr(instance, name, None)
    coming = due_moment(instance, now)
    same = Instance.objects.filter(pk=instance.pk, due_at=due_at)
    past = {"timed_stop_at": instance.timed_stop_at, "timed_release_at": instance.timed_release_at}
    if not same.update(due_at=coming, **past):
        raise StaleRow("Its timers changed meanwhile.")


def _record_failure(instance_id: UUID, now: datetime, error: DomainError) -> bool:
    """Record why an action failed.

    A host that is silent for a moment, or busy, is tried again first.
    """
    with use_case():
        instance = any_instance(instance_id)
        due_at = instance.due_at
        if due_at is None or (isinstance(error, _RETRIED) and now - due_at < SCHEDULE_TRIED):
            return False
        why = refusal(error)
        record_event(instance, kind="schedule_failed", actor=SYSTEM, detail=why)
        _emit_webhook(instance, "failed", due_at, code=error.code, **message_fields(why, error.detail))
        _advance(instance, due_at, now)
        touch_renter(instance)
    return True


def _stop_idle(instance_id: UUID, now: datetime) -> bool:
    instance = any_instance(instance_id)
    detail = WasIdle(percent=instance.idle_below_pct or 0, minutes=instance.idle_minutes or 0)
    still = instance_id in idle_instances(now) if instance.state == InstanceState.RUNNING else False
    if not still or not halt_instance(instance_id=instance_id, kind="idle_stop", detail=detail):
        return False
    with use_case():
        _emit_webhook(instance, "idle_stop", now)
    return True


def _emit_webhook(instance: Instance, action: str, at: datetime, **facts: Any) -> None:
    """Emit the webhook event."""
    common = {"instance": public_id("inst", instance.pk), "name": instance.name, "action": action, "at": at.isoformat()}
    emit(user_id=instance.renter_id, kind="instance.schedule", payload={**common, **facts})
