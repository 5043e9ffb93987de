"""Requests and responses of timers, schedules, idle stops, queue positions and data retention."""

from datetime import datetime, time
from typing import Annotated, Any

from rest_framework import serializers

from common.http.fields import AmountText
from common.money import format_money
from common.resources import OneOf, resource
from instances.constants import IDLE_MINUTES, KEEP_DAYS_MAX, LINE_LONGEST, WEEKLY_AT_MOST
from instances.models import Instance
from instances.retention.data_retention import daily_micros, kept_gb
from instances.schedules.recurrence import ACTIONS, DAYS, Entry
from instances.schedules.settings import IdleRule, SettingsChange, Week
from instances.schedules.timers import next_occurrence
from marketplace.spot_market.selectors import QueuePosition

Text, Time, Whole = serializers.CharField, serializers.DateTimeField, serializers.IntegerField
_TIME_OF_DAY = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"


class WeeklyEntry(serializers.Serializer[Any]):
    """A start or stop on these days at this time."""

    action = serializers.ChoiceField(choices=list(ACTIONS))
    days = serializers.ListField(child=serializers.ChoiceField(choices=list(DAYS)), min_length=1, max_length=7)
    time = serializers.RegexField(_TIME_OF_DAY, help_text="HH:MM in the schedule's time zone")


class SchedulePatch(serializers.Serializer[Any]):
    """Timers and the weekly schedule; omitted fields stay unchanged."""

    stop_at = Time(required=False, allow_null=True, help_text="Scheduled stop; null: none")
    release_at = Time(required=False, allow_null=True, help_text="Scheduled release, which deletes the data; null: none")
    weekly = WeeklyEntry(
        many=True, required=False, help_text=f"The whole week, at most {WEEKLY_AT_MOST} entries; empty: no schedule"
    )
    time_zone = Text(required=False, max_length=64, allow_blank=True, help_text="IANA name; required with `weekly`")


class IdleStop(serializers.Serializer[Any]):
    """Idle stop: stop when GPU usage stays below this without an open SSH or terminal session."""

    below_pct = Whole(min_value=1, max_value=100)
    minutes = Whole(min_value=IDLE_MINUTES[0], max_value=IDLE_MINUTES[1])


class SettingsPatch(serializers.Serializer[Any]):
    """Schedule, idle rule and lock of an instance."""

    locked = serializers.BooleanField(required=False, help_text="Blocks release, scheduled release and image changes")
    schedule = SchedulePatch(required=False)
    idle_stop = IdleStop(required=False, allow_null=True, help_text="null: no idle stop")


@resource
class NextOccurrence:
    """The next occurrence of the weekly schedule."""

    action: Annotated[str, OneOf(list(ACTIONS))]
    at: datetime


@resource
class Schedule:
    """Timers and the weekly schedule."""

    stop_at: datetime | None
    release_at: datetime | None
    weekly: list[Annotated[dict[str, Any], WeeklyEntry]]
    time_zone: str | None
    next: NextOccurrence | None


@resource
class PlaceInLine:
    """Position in the queue for its GPUs; 1 is next.

    Suitable GPUs are not rented to anyone outside the queue.
    """

    position: int
    of: int
    since: datetime
    until: Annotated[datetime, "When the queue place expires and the held funds are released"]


@resource
class Retention:
    """How long the data of a stopped instance is kept."""

    until: Annotated[datetime, "When the data is deleted"]
    free_until: datetime
    gb: Annotated[int, "Size billed for an extension: the system disk and the free part of the data disk"]
    daily_fee: Annotated[str, "Per day after the free period"]


class KeepIn(serializers.Serializer[Any]):
    """The data retention extension."""

    days = Whole(min_value=1, max_value=KEEP_DAYS_MAX)
    max_fee = AmountText(required=False, allow_null=True, help_text="Fails if it costs more")


def schedule_resource(instance: Instance, now: datetime) -> Schedule:
    coming = next_occurrence(instance, now)
    return Schedule(
        stop_at=instance.timed_stop_at,
        release_at=instance.timed_release_at,
        weekly=[{**row, "days": [DAYS[day] for day in row["days"]]} for row in instance.weekly],
        time_zone=instance.time_zone or None,
        next=None if coming is None else NextOccurrence(action=coming.action, at=coming.at),
    )


def idle_stop_resource(instance: Instance) -> dict[str, Any] | None:
    if instance.idle_minutes is None:
        return None
    return {"below_pct": instance.idle_below_pct, "minutes": instance.idle_minutes}


def queue_place_resource(place: QueuePosition | None) -> PlaceInLine | None:
    if place is None:
        return None
    return PlaceInLine(position=place.number, of=place.of, since=place.since, until=place.since + LINE_LONGEST)


def retention_resource(instance: Instance) -> Retention | None:
    """Return the retention; the offer must be loaded."""
    if "keep" not in instance.actions or instance.release_at is None:
        return None
    return Retention(
        until=instance.release_at,
        free_until=instance.paid_from or instance.release_at,
        gb=kept_gb(instance),
        daily_fee=format_money(daily_micros(instance)),
    )


def parse_settings(patch: dict[str, Any]) -> SettingsChange:
    """Return the settings to change, from a validated request."""
    changes: dict[str, Any] = {name: patch[name] for name in ("name", "locked") if name in patch}
    schedule = patch.get("schedule") or {}
    changes |= {name: schedule[name] for name in ("stop_at", "release_at") if name in schedule}
    if "weekly" in schedule:
        entries = [_entry(row) for row in schedule["weekly"]]
        changes["week"] = Week(entries, schedule.get("time_zone", ""))
    if "idle_stop" in patch:
        rule = patch["idle_stop"]
        changes["idle"] = rule and IdleRule(**rule)
    return SettingsChange(changes)


def _entry(row: dict[str, Any]) -> Entry:
    days = sorted({DAYS.index(day) for day in row["days"]})
    return Entry(row["action"], tuple(days), time.fromisoformat(row["time"]))
