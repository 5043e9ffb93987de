"""Reads of usage over time, from the finest rows that reach back far enough, in chosen steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any, Final

from django.db import connection

from instances.constants import DAYS_KEPT, HOURS_KEPT, METRICS_POINTS, MINUTES_KEPT, SAMPLES_KEPT, TRACES_KEPT
from instances.models import Instance, InstanceSample, InstanceTrace

_SAMPLES = """
SELECT to_timestamp(floor(extract(epoch FROM at) / %(step)s) * %(step)s),
       avg(cpu_pct), avg(ram_mb)::float, max(disk_mb), sum(rx_bytes)::bigint, sum(tx_bytes)::bigint,
       avg(gpu_util_pct), avg(vram_used_mb)::float, max(gpu_util_pct), avg(power_w)::float, max(temperature_c),
       max(ram_mb), max(vram_used_mb)
FROM instances_instancesample
WHERE instance_id = %(instance)s AND at >= %(since)s AND at < %(until)s
GROUP BY 1 ORDER BY 1
"""
_ROLLED = """
SELECT to_timestamp(floor(extract(epoch FROM at) / %(step)s) * %(step)s),
       sum(cpu_pct * samples) / sum(samples), sum(ram_mb * samples) / sum(samples), max(disk_mb),
       sum(rx_bytes)::bigint, sum(tx_bytes)::bigint,
       sum(gpu_util_pct * samples) / sum(samples), sum(vram_used_mb * samples) / sum(samples), max(gpu_util_max_pct),
       sum(power_w * samples) / sum(samples), max(temperature_c), max(ram_max_mb), max(vram_max_mb)
FROM instances_instanceusage
WHERE instance_id = %(instance)s AND grain = %(grain)s AND at >= %(since)s AND at < %(until)s
GROUP BY 1 ORDER BY 1
"""
# Steps that are easy to read on an axis, in seconds.
_STEPS: Final = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 604_800)
REPORTS_EVERY_S: Final = 20


@dataclass(frozen=True)
class Sample:
    """Mean usage over one step of time; disk and `_max` are the highest reading, traffic is the sum."""

    at: datetime
    cpu_pct: float
    ram_mb: float
    disk_mb: int
    rx_bytes: int | None
    tx_bytes: int | None
    gpu_util_pct: float
    vram_used_mb: float
    gpu_util_max_pct: float = 0.0
    power_w: float = 0.0
    temperature_c: float = 0.0
    ram_max_mb: float = 0.0
    vram_max_mb: float = 0.0


@dataclass(frozen=True)
class UsageSource:
    """Rows of one resolution: their distance, and how long they are kept."""

    name: str
    step_s: int
    kept: timedelta


SOURCES: Final = (
    UsageSource("second", 1, TRACES_KEPT),
    UsageSource("sample", REPORTS_EVERY_S, SAMPLES_KEPT),
    UsageSource("minute", 60, MINUTES_KEPT),
    UsageSource("hour", 3600, HOURS_KEPT),
    UsageSource("day", 86_400, DAYS_KEPT),
)


def metrics_of(instance: Instance, *, since: datetime, until: datetime, step_s: int | None = None) -> list[Sample]:
    """Return usage over time; without a step, at most METRICS_POINTS points."""
    if step_s is None:
        step_s = max(1, int((until - since) / timedelta(seconds=METRICS_POINTS)))
        source = next(one for one in reversed(SOURCES) if one.step_s <= max(step_s, REPORTS_EVERY_S))
    else:
        source = source_for(since=since, until=until, step_s=step_s)
    if source.name == "second":
        return _seconds(instance, since, until, step_s)
    values: dict[str, Any] = {"instance": instance.pk, "since": since, "until": until, "step": step_s, "grain": source.name}
    with connection.cursor() as cursor:
        cursor.execute(_SAMPLES if source.name == "sample" else _ROLLED, values)
        return [Sample(*row) for row in cursor.fetchall()]


def source_for(*, since: datetime, until: datetime, step_s: int) -> UsageSource:
    """Return the coarsest source that is fine enough and reaches back far enough, else the finest."""
    reaching = [one for one in SOURCES if since >= until - one.kept]
    fitting = [one for one in reaching if one.step_s <= step_s]
    return (fitting or reaching[:1] or [SOURCES[-1]])[-1]


def nice_step(length: timedelta, points: int = METRICS_POINTS) -> int:
    """Return a step in seconds so that about `points` cover the length; it is no finer than reports."""
    wanted = max(REPORTS_EVERY_S, length.total_seconds() / points)
    return next((step for step in _STEPS if step >= wanted), _STEPS[-1])


def latest_sample(instance: Instance) -> InstanceSample | None:
    return InstanceSample.objects.filter(instance=instance).order_by("-at").first()


def _seconds(instance: Instance, since: datetime, until: datetime, step_s: int) -> list[Sample]:
    rows = InstanceTrace.objects.filter(instance=instance, at__gte=since, at__lte=until).order_by("at")
    points: dict[int, dict[str, Any]] = {}
    for at, values in rows.values_list("at", "values"):
        length = max((len(series) for series in values.values()), default=0)
        last = int(at.timestamp())
        for place in range(length):
            second = last - (length - 1 - place)
            points[second] = {name: series[place] for name, series in values.items() if place < len(series)}
    begin = int(since.timestamp())
    steps = groupby(sorted(second for second in points if second >= begin), key=lambda second: second // step_s * step_s)
    return [_mean(datetime.fromtimestamp(start, UTC), [points[second] for second in group]) for start, group in steps]


def _mean(at: datetime, seconds: Sequence[Mapping[str, float]]) -> Sample:
    def every(name: str) -> list[float]:
        return [float(second.get(name, 0)) for second in seconds]

    def mean(name: str) -> float:
        return sum(every(name)) / len(seconds)

    return Sample(
        at=at,
        cpu_pct=mean("cpu"),
        ram_mb=mean("ram"),
        disk_mb=0,
        rx_bytes=None,
        tx_bytes=None,
        gpu_util_pct=mean("gpu"),
        vram_used_mb=mean("vram"),
        gpu_util_max_pct=max(every("gpu")),
        power_w=mean("power"),
        temperature_c=max(every("temp")),
        ram_max_mb=max(every("ram")),
        vram_max_mb=max(every("vram")),
    )
