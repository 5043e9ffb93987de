"""Periods of whole days in UTC for which earnings are reported."""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from common.errors import FieldError, InvalidInput

LONGEST_DAYS: Final = 400
_USUAL_DAYS: Final = 30


@dataclass(frozen=True)
class Period:
    """First and last day of a period, both included."""

    since: date
    until: date


def parse_period(*, since: date | None, until: date | None, today: date) -> Period:
    """Return the period, or raise InvalidInput.

    Without `until` it ends today, without `since` it has 30 days.
    """
    last = until or (max(today, since) if since else today)
    first = since or last - timedelta(days=_USUAL_DAYS - 1)
    if first > last:
        raise _wrong("The span begins after its end.")
    if (last - first).days >= LONGEST_DAYS:
        raise _wrong(f"A span has at most {LONGEST_DAYS} days.")
    return Period(first, last)


def this_month(today: date) -> Period:
    return Period(today.replace(day=1), today)


def last_month(today: date) -> Period:
    end = today.replace(day=1) - timedelta(days=1)
    return Period(end.replace(day=1), end)


def last_year(today: date) -> Period:
    """Return twelve calendar months, including the present one."""
    begin = today.replace(day=1)
    for _month in range(11):
        begin = (begin - timedelta(days=1)).replace(day=1)
    return Period(begin, today)


def _wrong(detail: str) -> InvalidInput:
    return InvalidInput(detail, errors=[FieldError("since", "invalid", detail)])
