"""Calendar months in UTC, as 2026-11."""

from datetime import UTC, date, datetime, time
from typing import Any

from rest_framework import serializers

from common import clock


class MonthIn(serializers.Serializer[Any]):
    """Which month."""

    month = serializers.RegexField(
        r"^2[0-9]{3}-(0[1-9]|1[0-2])$", required=False, default="", help_text="As 2026-11; by default this one"
    )


def midnight(day: date | None) -> datetime | None:
    """The first moment of a day in UTC."""
    return None if day is None else datetime.combine(day, time(), UTC)


def month_span(month: str) -> tuple[datetime, datetime]:
    """From its first moment to that of the next one."""
    now = clock.now()
    year, number = (int(month[:4]), int(month[5:])) if month else (now.year, now.month)
    return datetime(year, number, 1, tzinfo=UTC), datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)
