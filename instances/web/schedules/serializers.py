"""JSON of timers, schedules, queue positions and data retention, and parsing of changes to them."""

from datetime import datetime, time
from typing import Any

from common.money import format_money
from instances.constants import LINE_LONGEST
from instances.models import Instance
from instances.retention.data_retention import daily_micros, kept_gb
from instances.schedules.recurrence import DAYS, Entry
from instances.schedules.settings import IdleRule, Week, Wishes
from instances.schedules.timers import next_occurrence
from marketplace.spot_market.selectors import Place

Shape = dict[str, Any]


def schedule_shape(instance: Instance, now: datetime) -> Shape:
    coming = next_occurrence(instance, now)
    return {
        "stop_at": instance.timed_stop_at,
        "release_at": instance.timed_release_at,
        "weekly": [{**row, "days": [DAYS[day] for day in row["days"]]} for row in instance.weekly],
        "time_zone": instance.time_zone or None,
        "next": coming and {"action": coming.action, "at": coming.at},
    }


def idle_shape(instance: Instance) -> Shape | None:
    if instance.idle_minutes is None:
        return None
    return {"below_pct": instance.idle_below_pct, "minutes": instance.idle_minutes}


def place_shape(place: Place | None) -> Shape | None:
    if place is None:
        return None
    return {"position": place.number, "of": place.of, "since": place.since, "until": place.since + LINE_LONGEST}


def retention_shape(instance: Instance) -> Shape | None:
    """Return the retention as JSON; the offer must be loaded."""
    if "keep" not in instance.actions:
        return None
    return {
        "until": instance.release_at,
        "free_until": instance.paid_from or instance.release_at,
        "gb": kept_gb(instance),
        "daily_fee": format_money(daily_micros(instance)),
    }


def read_settings(patch: dict[str, Any]) -> Wishes:
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
    return Wishes(changes)


def _entry(row: dict[str, Any]) -> Entry:
    days = sorted({DAYS.index(day) for day in row["days"]})
    return Entry(row["action"], tuple(days), time.fromisoformat(row["time"]))
