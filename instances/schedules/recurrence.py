"""Occurrences of weekly schedules, computed in the renter's time zone with daylight saving time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ACTIONS: Final = ("start", "stop")
_WEEK: Final = timedelta(days=7)
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True)
class Entry:
    """A start or stop on these days of the week (0 is Monday) at this time of the zone."""

    action: str
    days: tuple[int, ...]
    at: time

    @property
    def row(self) -> dict[str, Any]:
        """Return the entry as it is stored."""
        return {"action": self.action, "days": list(self.days), "time": f"{self.at:%H:%M}"}


@dataclass(frozen=True, order=True)
class Occurrence:
    """A moment at which an entry is due."""

    at: datetime
    action: str


def entry_of(row: dict[str, Any]) -> Entry:
    return Entry(row["action"], tuple(row["days"]), time.fromisoformat(row["time"]))


def is_zone(name: str) -> bool:
    return name in available_timezones()


def next_after(entries: Sequence[Entry], zone: str, after: datetime) -> Occurrence | None:
    """Return the first occurrence after `after`; None for an empty schedule."""
    return min(_between(entries, zone, after, after + _WEEK + _DAY), default=None)


def last_until(entries: Sequence[Entry], zone: str, *, after: datetime, until: datetime) -> Occurrence | None:
    """Return the last occurrence in (after, until], or None.

    After an outage only the last one is still valid.
    """
    return max(_between(entries, zone, max(after, until - _WEEK - _DAY), until), default=None)


def _between(entries: Sequence[Entry], zone: str, after: datetime, until: datetime) -> Iterator[Occurrence]:
    """Yield the occurrences in (after, until].

    A local time that a clock change skips comes an hour later that day; one that occurs twice counts the first time.
    """
    if not entries:
        return
    here = ZoneInfo(zone)
    for day in _dates(after.astimezone(here).date() - _DAY, until.astimezone(here).date() + _DAY):
        for entry in entries:
            if day.weekday() in entry.days:
                moment = datetime.combine(day, entry.at, tzinfo=here).astimezone(UTC)
                if after < moment <= until:
                    yield Occurrence(moment, entry.action)


def _dates(first: date, last: date) -> Iterator[date]:
    while first <= last:
        yield first
        first += _DAY
