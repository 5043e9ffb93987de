"""Reads of alerts, and the problems that the latest usage shows."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from accounts.models import User
from common.errors import NotFound
from instances.constants import (
    ALERT_BUSY_FROM_PCT,
    ALERT_DISK_PCT,
    ALERT_IDLE_BELOW_PCT,
    ALERT_IDLE_FOR,
    ALERT_MAIL_TRIED,
    ALERT_MEMORY_FOR,
    ALERT_MEMORY_PCT,
    CPU_RUN_RAM_MB,
)
from instances.models import Alert, AlertMute, Instance
from instances.states import InstanceState
from storage.volumes.selectors import disk_uses, nearly_full_volumes

ALIVE = (InstanceState.RUNNING, InstanceState.RESTARTING)
_MIB = 1024
_DISKS_SEEN = timedelta(minutes=10)

_IDLE = """
SELECT i.id, i.rate_micros_per_hour, max(u.gpu_util_max_pct), count(*),
       max(u.gpu_util_max_pct) FILTER (WHERE u.at >= %(now)s - interval '3 minutes')
FROM instances_instance i
JOIN instances_instanceusage u ON u.instance_id = i.id AND u.grain = 'minute' AND u.at >= %(since)s AND u.at < %(now)s
WHERE i.state = 'running' AND NOT i.cpu_only AND i.started_at <= %(since)s
GROUP BY i.id, i.rate_micros_per_hour
"""
_FULLNESS = """
SELECT i.id, i.started_at, i.data_disk_gb, CASE WHEN i.cpu_only THEN %(cpu_ram)s ELSE i.ram_mb END,
       max(s.disk_mb), avg(s.ram_mb)::float, min(s.at), max(s.at), max(s.oom_kills)
FROM instances_instance i
JOIN instances_instancesample s ON s.instance_id = i.id AND s.at >= %(since)s AND s.at >= i.started_at
WHERE i.state = 'running'
GROUP BY i.id
"""


@dataclass(frozen=True)
class Problem:
    """A problem of an instance.

    One with `raises` false raises no alert, but keeps an open one open, since it is not over.
    """

    instance_id: UUID
    kind: str
    facts: dict[str, Any] = field(default_factory=dict)
    raises: bool = True
    key: str = ""


def findings_of_use(now: datetime) -> list[Problem]:
    """Return idle GPUs, nearly full memory and disks, and out-of-memory kills.

    It reads the newest samples in two queries.
    """
    return [*_idle_gpus(now), *_full_disks_and_memory(now), *_full_volumes(now)]


def _idle_gpus(now: datetime) -> list[Problem]:
    since = now - ALERT_IDLE_FOR
    enough = ALERT_IDLE_FOR / timedelta(minutes=1) * 0.8  # minutes with a report, since a silent host shows nothing
    with connection.cursor() as cursor:
        cursor.execute(_IDLE, {"since": since, "now": now})
        rows = cursor.fetchall()
    found = []
    for instance_id, rate, most, minutes, lately in rows:
        facts = {"most_pct": round(most, 1), "rate_micros": rate, "minutes": int(ALERT_IDLE_FOR.total_seconds() // 60)}
        if most < ALERT_IDLE_BELOW_PCT and minutes >= enough:
            found.append(Problem(instance_id, Alert.Kind.GPU_IDLE, facts))
        elif lately is None or lately < ALERT_BUSY_FROM_PCT:
            found.append(Problem(instance_id, Alert.Kind.GPU_IDLE, facts, raises=False))
    return found


def _full_disks_and_memory(now: datetime) -> list[Problem]:
    with connection.cursor() as cursor:
        cursor.execute(_FULLNESS, {"since": now - ALERT_MEMORY_FOR - timedelta(seconds=30), "cpu_ram": CPU_RUN_RAM_MB})
        rows = cursor.fetchall()
    found = _full_inodes([row[0] for row in rows if row[2]], now)
    for instance_id, started_at, disk_gb, ram_limit, disk, ram, first, last, kills in rows:
        if disk_gb:
            found += _fullness(instance_id, Alert.Kind.DISK_FULL, disk, disk_gb * _MIB, ALERT_DISK_PCT)
        if last - first >= ALERT_MEMORY_FOR - timedelta(seconds=30):
            found += _fullness(instance_id, Alert.Kind.MEMORY_HIGH, ram, ram_limit, ALERT_MEMORY_PCT)
        if kills:
            facts = {"kills": kills, "run": started_at.isoformat(), "limit_mb": ram_limit}
            found.append(Problem(instance_id, Alert.Kind.OUT_OF_MEMORY, facts))
    return found


def _full_inodes(instance_ids: Sequence[UUID], now: datetime) -> list[Problem]:
    """Find data disks that can hold hardly any more files, however many bytes are free."""
    found = []
    for instance_id, use in disk_uses(instance_ids).items():
        if use.inodes_total and now - use.at < _DISKS_SEEN:
            found += _fullness(instance_id, Alert.Kind.INODES_FULL, use.inodes_used, use.inodes_total, ALERT_DISK_PCT)
    return found


def _full_volumes(now: datetime) -> list[Problem]:
    """Find attached volumes that are nearly full; `key` is the volume's id."""
    full = nearly_full_volumes(since=now - _DISKS_SEEN, percent=ALERT_DISK_PCT[1])
    alive = set(Instance.objects.filter(pk__in=[each.holder for each in full], state__in=ALIVE).values_list("pk", flat=True))
    found = []
    for each in full:
        use, named = each.use, {"volume": each.volume.name}
        measures = [
            (Alert.Kind.DISK_FULL, use.used_mb, use.total_mb),
            (Alert.Kind.INODES_FULL, use.inodes_used, use.inodes_total),
        ]
        for kind, used, limit in measures if each.holder in alive else ():
            for one in _fullness(each.holder, kind, used, limit, ALERT_DISK_PCT):
                found.append(replace(one, key=each.volume.pk.hex, facts=one.facts | named))
    return found


def _fullness(instance_id: UUID, kind: str, used: float, limit: float, thresholds: tuple[float, float]) -> list[Problem]:
    percent = 100 * used / max(1, limit)
    raised_from, over_below = thresholds
    if percent < over_below:
        return []
    facts = {"percent": round(percent), "used_mb": round(used), "limit_mb": round(limit)}
    return [Problem(instance_id, kind, facts, raises=percent >= raised_from)]


# Alerts.


def alerts_of(renter: User, *, instance_id: UUID | None = None, open_only: bool = False) -> QuerySet[Alert]:
    """Return the renter's alerts with their instances, newest first."""
    mine = Alert.objects.filter(instance__renter=renter).select_related("instance")
    if instance_id is not None:
        mine = mine.filter(instance_id=instance_id)
    return mine.filter(resolved_at=None) if open_only else mine


def alert_of(renter: User, alert_id: UUID) -> Alert:
    alert = alerts_of(renter).filter(pk=alert_id).first()
    if alert is None:
        raise NotFound("This alert doesn't exist.")
    return alert


def open_alerts(kinds: Sequence[str]) -> list[Alert]:
    return list(Alert.objects.filter(resolved_at=None, kind__in=kinds).select_related("instance__host").order_by("pk"))


def muted_kinds(instance: Instance) -> list[str]:
    return list(AlertMute.objects.filter(instance=instance).order_by("kind").values_list("kind", flat=True))


def alerts_to_mail(now: datetime) -> QuerySet[Alert]:
    due = Alert.objects.filter(mailed_at=None, resolved_at=None, raised_at__gt=now - ALERT_MAIL_TRIED)
    return due.select_related("instance", "instance__renter").order_by("raised_at", "pk")


def holders_of(host_id: UUID, gpu_uuid: str) -> list[Instance]:
    """Return the instances that run on this GPU of the host now."""
    there = Instance.objects.filter(host_id=host_id, gpu_uuids__contains=[gpu_uuid], cpu_only=False)
    return list(there.filter(state__in=[*ALIVE, InstanceState.STARTING, InstanceState.STOPPING]))
