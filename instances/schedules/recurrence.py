"""When the entries of a weekly schedule come round: pure reckoning in the renter's time zone, summer time included."""

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
    """Start or stop on these days of the week (0 is Monday) at this time of the zone."""

    action: str
    days: tuple[int, ...]
    at: time

    @property
    def row(self) -> dict[str, Any]:
        """As it is stored."""
        return {"action": self.action, "days": list(self.days), "time": f"{self.at:%H:%M}"}


@dataclass(frozen=True, order=True)
class Occurrence:
    """One moment at which an entry has come round."""

    at: datetime
    action: str


def entry_of(row: dict[str, Any]) -> Entry:
    return Entry(row["action"], tuple(row["days"]), time.fromisoformat(row["time"]))


def is_zone(name: str) -> bool:
    return name in available_timezones()


def next_after(entries: Sequence[Entry], zone: str, after: datetime) -> Occurrence | None:
    """The first that comes later than `after`; None for an empty schedule."""
    return min(_between(entries, zone, after, after + _WEEK + _DAY), default=None)


def last_until(entries: Sequence[Entry], zone: str, *, after: datetime, until: datetime) -> Occurrence | None:
    """The latest in (after, until]; None when none came round. After an outage only what came last is still true."""
    return max(_between(entries, zone, max(after, until - _WEEK - _DAY), until), default=None)


def _between(entries: Sequence[Entry], zone: str, after: datetime, until: datetime) -> Iterator[Occurrence]:
    """A time that the clocks pass over comes an hour later that day; one that they show twice comes the first time."""
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
