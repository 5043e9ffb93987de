"""Detection of late sweeps by the web process.

A missing beat or worker cannot report itself (fault 85).
"""

import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from common import clock
from common.messages.message import MOST_PARTS, Name, Second
from marketplace.hosts.incidents import close_incident, open_incident
from marketplace.incident_messages import LateSweeps, NoSweepYet
from marketplace.models import Host, SweepRun

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


def expect_sweeps(*, known: Mapping[str, float]) -> None:
    """Expect the sweeps of this version from now on, by their periods in seconds, and no others.

    So one that fails at each run since its first is reported as late, too, and all of them where beat never started.
    """
    SweepRun.objects.exclude(name__in=known).delete()
    now = clock.now()
    rows = [SweepRun(name=name, every_s=max(1, int(every_s)), ended_at=now) for name, every_s in known.items()]
    SweepRun.objects.bulk_create(rows, ignore_conflicts=True)


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
        detail = LateSweeps(since=Second(since), sweeps=tuple(Name(name=run.name) for run in late[:MOST_PARTS]))
        open_incident(kind=LATE, subject=SUBJECT, detail=detail)
    elif _never_had_a_worker(now):
        open_incident(kind=LATE, subject=SUBJECT, detail=NoSweepYet())
    else:
        close_incident(kind=LATE, subject=SUBJECT, closed_by="they are made again")


def _never_had_a_worker(now: datetime) -> bool:
    """Return whether no worker has started since the first host came, some minutes ago."""
    if SweepRun.objects.exists():
        return False
    return Host.objects.filter(enrolled_at__lt=now - timedelta(seconds=_LATE_AFTER_S)).exists()


def late_sweeps(*, now: datetime) -> list[SweepRun]:
    """Return sweeps that did not run for three of their periods, and for three minutes at least; the latest first."""
    overdue = ((now - _due_at(run), run) for run in SweepRun.objects.order_by("name"))
    late = [(by, run) for by, run in overdue if by > timedelta(0)]
    return [run for _by, run in sorted(late, key=lambda pair: pair[0], reverse=True)]


def _due_at(run: SweepRun) -> datetime:
    return run.ended_at + timedelta(seconds=max(_LATE_AFTER_S, _LATE_PERIODS * run.every_s))
