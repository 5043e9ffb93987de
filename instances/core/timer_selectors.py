"""Reads of timers that are due, idle instances, and data whose paid retention begins."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection
from django.db.models import Q

from billing.constants import RETENTION_SOURCE
from billing.metering.source_selectors import last_openings
from instances.constants import IDLE_GAP_MINUTES, SWEEP_BATCH
from instances.models import Instance
from instances.states import InstanceState
from storage.operations.host_presence import has_reported

# The span starts when the instance was last busy, was started or got its rule. Time that was not measured proves
# nothing: the whole span must have a sample in every stretch of the allowed gap.
_IDLE = """
SELECT id FROM (
    SELECT instance.id, instance.idle_minutes,
           count(DISTINCT floor(extract(epoch FROM %(now)s - sample.at) / %(gap_s)s)) AS stretches,
           COALESCE(bool_or(sample.gpu_util_pct >= instance.idle_below_pct OR sample.sessions > 0), true) AS busy
    FROM instances_instance instance
    LEFT JOIN instances_instancesample sample
        ON sample.instance_id = instance.id AND sample.at <= %(now)s
       AND sample.at > %(now)s - instance.idle_minutes * interval '1 minute'
    WHERE instance.state = 'running' AND instance.idle_minutes IS NOT NULL AND NOT instance.cpu_only
      AND GREATEST(instance.started_at, instance.idle_from) <= %(now)s - instance.idle_minutes * interval '1 minute'
    GROUP BY instance.id) AS watched
WHERE NOT busy AND stretches >= floor(idle_minutes * 60 / %(gap_s)s)
ORDER BY id
"""
_BUSY = """
SELECT instance.id, GREATEST(instance.started_at, instance.idle_from, (
    SELECT max(sample.at) FROM instances_instancesample sample
    WHERE sample.instance_id = instance.id AND (sample.gpu_util_pct >= instance.idle_below_pct OR sample.sessions > 0)))
FROM instances_instance instance
WHERE instance.id = ANY(%(ids)s::uuid[]) AND instance.state = 'running' AND instance.idle_minutes IS NOT NULL
"""


def timers_due(now: datetime) -> list[UUID]:
    """Return instances with a timer or scheduled action that is due, the first first."""
    due = Instance.objects.filter(due_at__lte=now).exclude(state=InstanceState.GONE).order_by("due_at")
    return list(due.values_list("pk", flat=True)[:SWEEP_BATCH])


def idle_instances(now: datetime) -> list[UUID]:
    """Return instances that have been idle for as long as their rule allows, by samples of the whole time."""
    with connection.cursor() as cursor:
        cursor.execute(_IDLE, {"now": now, "gap_s": IDLE_GAP_MINUTES * 60})
        return [row[0] for row in cursor.fetchall()]


def idle_stop_times(instances: Sequence[Instance]) -> dict[UUID, datetime]:
    """Return when each running instance with an idle rule will be stopped; without any no query is made.

    Activity in the instance moves that time.
    """
    watched = [each for each in instances if each.state == InstanceState.RUNNING and not each.cpu_only]
    ruled = {each.pk: each.idle_minutes for each in watched if each.idle_minutes}
    if not ruled:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_BUSY, {"ids": list(ruled)})
        return {key: since + timedelta(minutes=ruled[key]) for key, since in cursor.fetchall()}


def no_longer_retained(instance_ids: Sequence[UUID]) -> list[UUID]:
    """Return those of the ids whose data is no longer kept for a fee: they run, or are gone."""
    if not instance_ids:
        return []
    runs = Instance.objects.filter(pk__in=instance_ids, paid_from=None).order_by("pk")
    return list(runs.values_list("pk", flat=True))


def retention_to_open(now: datetime) -> list[UUID]:
    """Return stopped instances whose paid retention has begun, but is not metered yet."""
    kept = _kept_for_a_fee(now)
    begun = last_openings(source_kind=RETENTION_SOURCE, source_ids=list(kept)) if kept else {}
    return [key for key, paid_from in kept.items() if key not in begun or begun[key] < paid_from][:SWEEP_BATCH]


def retention_metered(now: datetime) -> list[UUID]:
    """Return instances whose paid retention is metered already, on hosts that have reported lately."""
    kept = _kept_for_a_fee(now, has_reported(now))
    begun = last_openings(source_kind=RETENTION_SOURCE, source_ids=list(kept)) if kept else {}
    return [key for key, paid_from in kept.items() if key in begun and begun[key] >= paid_from]


def _kept_for_a_fee(now: datetime, where: Q | None = None) -> dict[UUID, datetime]:
    stopped = [InstanceState.STOPPED, InstanceState.FAILED]
    kept = Instance.objects.filter(where or Q(), paid_from__lte=now, state__in=stopped)
    rows = kept.order_by("paid_from").values_list("pk", "paid_from")
    return {key: paid_from for key, paid_from in rows if paid_from is not None}
