"""Settings of an instance that change no state: name, lock, timers, weekly schedule, idle stop."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.models import User
from common import clock
from common.db.transactions import use_case
from common.errors import IllegalTransition, wrong_field
from common.messages.message import Message, Parts
from instances.constants import IDLE_MINUTES, TIMER_LONGEST, WEEKLY_AT_MOST
from instances.core.event_messages import NoSchedule, ReleaseAt, StopAt, StopIdle, Weekly
from instances.core.selectors import instance_of
from instances.core.transitions import RENTER, record_event, touch_renter
from instances.models import Instance
from instances.schedules.recurrence import Entry, is_zone
from instances.schedules.timers import due_moment
from instances.states import ENDING

_PCT_MAX: Final = 100
_SCHEDULE_COLUMNS: Final = {"timed_stop_at", "timed_release_at", "weekly", "time_zone", "idle_below_pct", "idle_minutes"}


@dataclass(frozen=True)
class Week:
    """A weekly schedule in a time zone; without entries there is none."""

    entries: Sequence[Entry] = ()
    time_zone: str = ""


@dataclass(frozen=True)
class IdleRule:
    """Idle rule: stop below this GPU usage (percent) for so many minutes without an open session."""

    below_pct: int
    minutes: int


@dataclass(frozen=True)
class SettingsChange:
    """Settings to change, by name; others stay, and None removes a timer or rule.

    Names: `name`, `locked`, `stop_at`, `release_at`, `week` (a Week), `idle` (an IdleRule).
    """

    changes: dict[str, Any] = field(default_factory=dict)


def change_settings(*, renter: User, instance_id: UUID, wanted: SettingsChange) -> Instance:
    """Change settings of an instance, all or none.

    Raises InvalidInput, or IllegalTransition for an instance that is being released.
    """
    changes, now = wanted.changes, clock.now()
    with use_case():
        instance = instance_of(renter, instance_id)
        _check_open(instance, changes)
        columns = _columns(instance, changes, now)
        new = {name for name, value in columns.items() if getattr(instance, name) != value}
        for name, value in columns.items():
            setattr(instance, name, value)
        if set(changes) & {"stop_at", "release_at", "week"}:
            columns["due_at"] = instance.due_at = _due(instance, now, new_week="week" in changes)
        Instance.objects.filter(pk=instance.pk).update(**columns)
        _record_events(instance, new)
        touch_renter(instance)
    return instance


def _due(instance: Instance, now: datetime, *, new_week: bool) -> datetime | None:
    """Return when a timer or the week is due next.

    An occurrence that waits for the sweep is not lost by a change of something else.
    """
    if instance.due_at is not None and instance.due_at <= now and not new_week:
        return instance.due_at
    return due_moment(instance, now)


def _check_open(instance: Instance, changes: dict[str, Any]) -> None:
    """Raise IllegalTransition for an instance that is being released, unless only its name changes.

    Statements show the name even later.
    """
    if instance.state in ENDING and set(changes) - {"name"}:
        raise IllegalTransition(
            f"An instance that is {instance.state} can't have a schedule.",
            state=instance.state,
            actions=instance.actions,
        )


def _columns(instance: Instance, changes: dict[str, Any], now: datetime) -> dict[str, Any]:
    columns: dict[str, Any] = {name: changes[name] for name in ("name", "locked") if name in changes}
    if "stop_at" in changes:
        columns["timed_stop_at"] = _moment("schedule.stop_at", changes["stop_at"], now)
    if "release_at" in changes:
        columns["timed_release_at"] = _moment("schedule.release_at", changes["release_at"], now)
        _check_release(columns["timed_release_at"], locked=columns.get("locked", instance.locked))
    if "week" in changes:
        columns |= _week(changes["week"] or Week())
    if "idle" in changes:
        columns |= _idle(changes["idle"], now)
        if (columns["idle_below_pct"], columns["idle_minutes"]) == (instance.idle_below_pct, instance.idle_minutes):
            del columns["idle_from"]  # the same rule sent again, as the page's form does, does not restart the idle time
    return columns


def _moment(name: str, moment: datetime | None, now: datetime) -> datetime | None:
    if moment is not None and not now < moment <= now + TIMER_LONGEST:
        raise wrong_field(name, _("Choose a future time within one year."))
    return moment


def _check_release(moment: datetime | None, *, locked: bool) -> None:
    if moment is not None and locked:
        raise wrong_field("schedule.release_at", _("Turn off release protection first."))


def _week(week: Week) -> dict[str, Any]:
    if not week.entries:
        return {"weekly": [], "time_zone": ""}
    if not is_zone(week.time_zone):
        raise wrong_field("schedule.time_zone", _("Enter a time zone, such as Europe/Berlin or Asia/Shanghai."))
    if len(week.entries) > WEEKLY_AT_MOST:
        raise wrong_field("schedule.weekly", _("Set at most %(most)s weekly entries.") % {"most": WEEKLY_AT_MOST})
    _check_clashes(week.entries)
    return {"weekly": [entry.row for entry in week.entries], "time_zone": week.time_zone}


def _check_clashes(entries: Sequence[Entry]) -> None:
    """Refuse a start and a stop at the same time of the week, whose order would be undefined."""
    taken: dict[tuple[int, Any], str] = {}
    for entry in entries:
        if not entry.days:
            raise wrong_field("schedule.weekly", _("Choose at least one day for each entry."))
        for day in entry.days:
            if taken.setdefault((day, entry.at), entry.action) != entry.action:
                raise wrong_field(
                    "schedule.weekly",
                    _("A start and a stop are set for the same time (%(at)s) on one day.") % {"at": f"{entry.at:%H:%M}"},
                )


def _idle(rule: IdleRule | None, now: datetime) -> dict[str, Any]:
    if rule is None:
        return {"idle_below_pct": None, "idle_minutes": None, "idle_from": None}
    shortest, longest = IDLE_MINUTES
    if not 1 <= rule.below_pct <= _PCT_MAX:
        raise wrong_field("idle_stop.below_pct", _("Choose 1 to %(most)s%%.") % {"most": _PCT_MAX})
    if not shortest <= rule.minutes <= longest:
        raise wrong_field(
            "idle_stop.minutes", _("Choose %(least)s to %(most)s minutes.") % {"least": shortest, "most": longest}
        )
    return {"idle_below_pct": rule.below_pct, "idle_minutes": rule.minutes, "idle_from": now}


def _record_events(instance: Instance, new: set[str]) -> None:
    """Record events about the lock and the schedule; a name is shown to the renter alone."""
    if "locked" in new:
        record_event(instance, kind="locked" if instance.locked else "unlocked", actor=RENTER)
    if new & _SCHEDULE_COLUMNS:
        record_event(instance, kind="schedule_set", actor=RENTER, detail=_summary(instance))


def _summary(instance: Instance) -> Message:
    parts: list[Message] = []
    if instance.timed_stop_at:
        parts.append(StopAt(at=instance.timed_stop_at))
    if instance.timed_release_at:
        parts.append(ReleaseAt(at=instance.timed_release_at))
    if instance.weekly:
        parts.append(Weekly(count=len(instance.weekly), zone=instance.time_zone))
    if instance.idle_minutes:
        parts.append(StopIdle(percent=instance.idle_below_pct or 0, minutes=instance.idle_minutes))
    return Parts(parts=tuple(parts)) if parts else NoSchedule()


def rename_instance(*, renter: User, instance_id: UUID, name: str) -> Instance:
    with use_case():
        instance = instance_of(renter, instance_id)
        Instance.objects.filter(pk=instance.pk).update(name=name)
        instance.name = name
        touch_renter(instance)
    return instance
