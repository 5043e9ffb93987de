"""Detection of late sweeps by the web process.

A missing beat or worker cannot report itself (fault 85).
"""

import time
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from common import clock
from marketplace.hosts.incidents import close_incident, open_incident
from marketplace.models import SweepRun

LATE: Final = "sweeps_late"
SUBJECT: Final = "jobs"
_WRITTEN_EVERY_S: Final = 30.0
_LOOKED_EVERY_S: Final = 15.0
_LATE_AFTER_S: Final = 180
_LATE_PERIODS: Final = 3

_written: dict[str, float] = {}
_looked: list[float] = []


def record_sweep_run(*, name: str, every_s: float) -> None:
    """Record that a sweep has just run, in the worker; most calls write nothing."""
    now = time.monotonic()
    if now - _written.get(name, -_WRITTEN_EVERY_S) < _WRITTEN_EVERY_S:
        return
    _written[name] = now
    row = SweepRun(name=name, every_s=max(1, int(every_s)), ended_at=clock.now())
    SweepRun.objects.bulk_create([row], update_conflicts=True, unique_fields=["name"], update_fields=["every_s", "ended_at"])


def delete_unknown_sweeps(*, known: Collection[str]) -> None:
    """Delete sweeps that this version no longer runs, so that they are not reported as late."""
    SweepRun.objects.exclude(name__in=known).delete()


def check_sweeps(*, now: datetime, at_once: bool = False) -> None:
    """Open an incident that names late sweeps, and close it when none is late.

    It runs in the web process, with agents' messages.
    """
    moment = time.monotonic()
    if not at_once and _looked and moment - _looked[-1] < _LOOKED_EVERY_S:
        return
    _looked[:] = [moment]
    late = late_sweeps(now=now)
    if late:
        since = min(run.ended_at for run in late)
        names = ", ".join(run.name for run in late[:20])
        detail = f"Since {since:%Y-%m-%d %H:%M:%S} UTC not made: {names}. Is there a worker, and one beat?"
        open_incident(kind=LATE, subject=SUBJECT, detail=detail)
    else:
        close_incident(kind=LATE, subject=SUBJECT, closed_by="they are made again")


def late_sweeps(*, now: datetime) -> list[SweepRun]:
    """Return sweeps that did not run for three of their periods, and for three minutes at least."""
    return [
        run
        for run in SweepRun.objects.order_by("ended_at")
        if now - run.ended_at > timedelta(seconds=max(_LATE_AFTER_S, _LATE_PERIODS * run.every_s))
    ]
