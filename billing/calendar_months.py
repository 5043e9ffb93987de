"""Calendar months in UTC, written as `2026-11`."""

from datetime import UTC, date, datetime, time

from common import clock


def midnight(day: date | None) -> datetime | None:
    """Return the first moment of a day in UTC."""
    return None if day is None else datetime.combine(day, time(), UTC)


def month_span(month: str) -> tuple[datetime, datetime]:
    """Return the first moment of a month and that of the next one; an empty text means the present month."""
    now = clock.now()
    year, number = (int(month[:4]), int(month[5:])) if month else (now.year, now.month)
    return datetime(year, number, 1, tzinfo=UTC), datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)
