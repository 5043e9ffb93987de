"""The clock of the code base: every time in Berth is UTC and comes from here."""

from datetime import datetime

from django.utils import timezone


def now() -> datetime:
    """Return the current time, aware, in UTC."""
    return timezone.now()


def format_minute(moment: datetime) -> str:
    """Return a time for use in sentences, such as "2026-11-22 14:56", in UTC."""
    return f"{moment:%Y-%m-%d %H:%M}"
