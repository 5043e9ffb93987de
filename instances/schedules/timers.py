"""Timers, the week's starts and stops, the stop of what idles, and places in line that are given up: done by sweeps."""

import logging
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from accounts.webhooks.outbox import emit
from common import clock
from common.db.transactions import joining, use_case
from common.errors import Busy, DomainError, StaleRow
from common.ids import public_id
from instances.constants import LINE_LONGEST, SCHEDULE_TRIED
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
    """The next moment at which anything is to be done by itself."""
    coming = next_occurrence(instance, after)
    moments = [instance.timed_stop_at, instance.timed_release_at, coming.at if coming else None]
    return min((moment for moment in moments if moment is not None), default=None)


def next_occurrence(instance: Instance, after: datetime) -> Occurrence | None:
    """Of its week."""
    return next_after([entry_of(row) for row in instance.weekly], instance.time_zone, after) if instance.weekly else None


def follow_timers(*, now: datetime) -> int:
    """Do what is due; how many instances had something. What fails is written down, and the next time stands."""
    return sum(_try_follow(instance_id, now) for instance_id in timers_due(now))


def stop_idle(*, now: datetime) -> int:
    """Stop what has idled for as long as its renter allows; how many."""
    return sum(_stop_idle(instance_id, now) for instance_id in idle_instances(now))


def end_long_waits(*, now: datetime) -> int:
    """Places in line that nobody may hold for longer: the instance is stopped, its money free; how many."""
    holders = waiting_longer_than(before=now - LINE_LONGEST)
    detail = f"No GPUs were free for {LINE_LONGEST.days} days. The money that was held is free again; the data is kept."
    return sum(halt_instance(instance_id=holder, kind="line_left", detail=detail) for holder in holders)


def _try_follow(instance_id: UUID, now: datetime) -> bool:
    """In one transaction the deed and the next time: neither is done twice, and none is lost when a worker dies."""
    try:
        with joining():
            _follow(any_instance(instance_id), now)
    except StaleRow:
        return False  # the renter, a report or another worker was faster: the row is looked at again
    except DomainError as error:
        return _give_up(instance_id, now, error)
    except Exception:  # one broken row must not stop those behind it
        logger.exception("the timers of instance %s were passed over", instance_id)
        return False
    return True


def _follow(instance: Instance, now: datetime) -> None:
    due_at = instance.due_at
    if due_at is None or due_at > now:
        raise StaleRow("Somebody else did it.")
    if instance.timed_release_at is not None and instance.timed_release_at <= now:
        _release(instance)
    elif instance.timed_stop_at is not None and instance.timed_stop_at <= now:
        _stop(instance, "timed_stop", instance.timed_stop_at)
    else:
        _follow_week(instance, due_at, now)
    _advance(instance, due_at, now)


def _follow_week(instance: Instance, due_at: datetime, now: datetime) -> None:
    """Of what came round during an outage only the last counts, and not what the renter has decided otherwise since."""
    entries = [entry_of(row) for row in instance.weekly]
    last = last_until(entries, instance.time_zone, after=due_at - _JUST_BEFORE, until=now) if entries else None
    if last is None:
        return
    if last.action == "start":
        _start(instance, last.at)
    else:
        _stop(instance, "weekly_stop", last.at)


def _start(instance: Instance, at: datetime) -> None:
    """It stands in line when its GPUs are taken. Nothing to do for what runs, or was stopped by hand since."""
    asked = instance.stop_requested_at
    if "start" not in instance.actions or (asked is not None and asked > at):
        return
    record_event(instance, kind="weekly_start", actor=SYSTEM, detail=_at(at))
    started = start_instance(renter=instance.renter, instance_id=instance.pk, wait=True)
    _tell(started, "start", at)


def _stop(instance: Instance, kind: str, at: datetime) -> None:
    if instance.started_at is not None and instance.started_at > at:
        return
    if halt_instance(instance_id=instance.pk, kind=kind, detail=_at(at)):
        _tell(instance, "stop", at)


def _release(instance: Instance) -> None:
    assert instance.timed_release_at is not None
    if instance.locked:
        record_event(instance, kind="timed_release_locked", actor=SYSTEM)
        touch_renter(instance)
        return
    record_event(instance, kind="timed_release", actor=SYSTEM, detail=_at(instance.timed_release_at))
    release_instance(renter=instance.renter, instance_id=instance.pk)
    _tell(instance, "release", instance.timed_release_at)


def _advance(instance: Instance, due_at: datetime, now: datetime) -> None:
    """To what comes next. Raises StaleRow when the renter has set something else meanwhile: then all is taken back."""
    for name in ("timed_stop_at", "timed_release_at"):
        moment = getattr(instance, name)
        if moment is not None and moment <= now:
            setattr(instance, name, None)
    coming = due_moment(instance, now)
    same = Instance.objects.filter(pk=instance.pk, due_at=due_at)
    past = {"timed_stop_at": instance.timed_stop_at, "timed_release_at": instance.timed_release_at}
    if not same.update(due_at=coming, **past):
        raise StaleRow("Its timers changed meanwhile.")


def _give_up(instance_id: UUID, now: datetime, error: DomainError) -> bool:
    """Why it could not be done, for its renter. A host that is silent for a moment is asked again first."""
    with use_case():
        instance = any_instance(instance_id)
        due_at = instance.due_at
        if due_at is None or (isinstance(error, _RETRIED) and now - due_at < SCHEDULE_TRIED):
            return False
        record_event(instance, kind="schedule_failed", actor=SYSTEM, detail=error.detail)
        _tell(instance, "failed", due_at, code=error.code, detail=error.detail)
        _advance(instance, due_at, now)
        touch_renter(instance)
    return True


def _stop_idle(instance_id: UUID, now: datetime) -> bool:
    instance = any_instance(instance_id)
    detail = f"Its GPUs did less than {instance.idle_below_pct} % for {instance.idle_minutes} minutes, and nobody was in it."
    still = instance_id in idle_instances(now) if instance.state == InstanceState.RUNNING else False
    if not still or not halt_instance(instance_id=instance_id, kind="idle_stop", detail=detail):
        return False
    with use_case():
        _tell(instance, "idle_stop", now)
    return True


def _tell(instance: Instance, action: str, at: datetime, **facts: str) -> None:
    """Its renter's programs."""
    told = {"instance": public_id("inst", instance.pk), "name": instance.name, "action": action, "at": at.isoformat()}
    emit(user_id=instance.renter_id, kind="instance.schedule", payload={**told, **facts})


def _at(moment: datetime) -> str:
    return f"{clock.minute(moment)} UTC"
