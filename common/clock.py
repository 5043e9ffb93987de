"""The one clock: every time in Berth is UTC and comes from here."""

from datetime import datetime

from django.utils import timezone


def now() -> datetime:
    """The current time, aware, in UTC."""
    return timezone.now()
