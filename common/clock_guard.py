"""Check of this process's clock.

While it cannot be trusted, nothing is metered, stopped or deleted by it (fault 58).
"""

import time
from datetime import datetime
from typing import Final

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext_lazy as _

from common import clock
from common.messages.message import Message

MOST_S: Final = 300.0  # a smaller correction of the clock is not a jump
STEADY_S: Final = 600.0  # after a jump, the clock is trusted again once it has run evenly for this long
_LOOKED_EVERY_S: Final = 5.0


class ClocksApart(
    Message, code="clocks_apart", text=_("The clocks of this machine and of PostgreSQL differ by %(seconds)s s.")
):
    seconds: int


class ClockJumped(
    Message,
    code="clock_jumped",
    text=_("The clock of this machine jumped by %(seconds)s s; it is watched for %(watched)s s."),
):
    seconds: int
    watched: int


class ClockGuard:
    """Guard of one process: compares the wall clock with the machine's uptime and with PostgreSQL's clock."""

    def __init__(self) -> None:
        self._offset: float | None = None
        self._even_since = -STEADY_S
        self._jump = 0.0

    def trouble(self, *, wall: datetime, counted_s: float, database: datetime) -> Message | None:
        """Return what to tell staff, or None while the clock can be trusted.

        `counted_s` are seconds that never jump.
        """
        offset = wall.timestamp() - counted_s
        if self._offset is not None and abs(offset - self._offset) > MOST_S:
            self._jump, self._even_since = offset - self._offset, counted_s
        self._offset = offset
        apart = (wall - database).total_seconds()
        if abs(apart) > MOST_S:
            return ClocksApart(seconds=round(apart))
        if self._jump and counted_s - self._even_since < STEADY_S:
            return ClockJumped(seconds=round(self._jump), watched=round(STEADY_S))
        return None


_guard = ClockGuard()
_last: list[tuple[float, Message | None]] = []


def clock_problem() -> Message | None:
    """Return what is wrong with this process's clock, checked every few seconds; None if nothing is.

    Also None when the guard is switched off.
    """
    if not settings.CLOCK_GUARD:
        return None
    counted = time.clock_gettime(time.CLOCK_BOOTTIME)
    if not _last or counted - _last[0][0] >= _LOOKED_EVERY_S:
        with connection.cursor() as cursor:
            cursor.execute("SELECT clock_timestamp()")
            (database,) = cursor.fetchone()
        _last[:] = [(counted, _guard.trouble(wall=clock.now(), counted_s=counted, database=database))]
    return _last[0][1]
