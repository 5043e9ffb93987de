"""Reads of what instances do by themselves: timers that are due, what idles, data whose paid time begins."""

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
from storage.operations.host_presence import is_heard

# From the last moment at which it was busy, was started or was given its rule. What was not measured proves nothing: of the
# whole span there must be a sample in every stretch of the allowed gap.
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
    """Instances with a timer or an entry of their week that has come round, the first first."""
    due = Instance.objects.filter(due_at__lte=now).exclude(state=InstanceState.GONE).order_by("due_at")
    return list(due.values_list("pk", flat=True)[:SWEEP_BATCH])


def idle_instances(now: datetime) -> list[UUID]:
    """Those that have idled for as long as their renters allow, by samples of the whole time."""
    with connection.cursor() as cursor:
        cursor.execute(_IDLE, {"now": now, "gap_s": IDLE_GAP_MINUTES * 60})
        return [row[0] for row in cursor.fetchall()]


def idle_stop_times(instances: Sequence[Instance]) -> dict[UUID, datetime]:
    """When each that runs under a rule is stopped unless something happens in it; no query where there is none."""
    watched = [each for each in instances if each.state == InstanceState.RUNNING and not each.cpu_only]
    ruled = {each.pk: each.idle_minutes for each in watched if each.idle_minutes}
    if not ruled:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_BUSY, {"ids": list(ruled)})
        return {key: since + timedelta(minutes=ruled[key]) for key, since in cursor.fetchall()}


def kept_no_more(instance_ids: Sequence[UUID]) -> list[UUID]:
    """Those of the ids for whose data nobody is to pay any more: they run, or are gone."""
    if not instance_ids:
        return []
    runs = Instance.objects.filter(pk__in=instance_ids, paid_from=None).order_by("pk")
    return list(runs.values_list("pk", flat=True))


def paid_time_begins(now: datetime) -> list[UUID]:
    """Stopped instances whose data is kept for a fee by now, and has not been metered yet."""
    kept = _kept_for_a_fee(now)
    begun = last_openings(source_kind=RETENTION_SOURCE, source_ids=list(kept)) if kept else {}
    return [key for key, paid_from in kept.items() if key not in begun or begun[key] < paid_from][:SWEEP_BATCH]


def paid_time_runs(now: datetime) -> list[UUID]:
    """Those whose data has been metered already, on hosts that are heard."""
    kept = _kept_for_a_fee(now, is_heard(now))
    begun = last_openings(source_kind=RETENTION_SOURCE, source_ids=list(kept)) if kept else {}
    return [key for key, paid_from in kept.items() if key in begun and begun[key] >= paid_from]


def _kept_for_a_fee(now: datetime, where: Q | None = None) -> dict[UUID, datetime]:
    stopped = [InstanceState.STOPPED, InstanceState.FAILED]
    kept = Instance.objects.filter(where or Q(), paid_from__lte=now, state__in=stopped)
    rows = kept.order_by("paid_from").values_list("pk", "paid_from")
    return {key: paid_from for key, paid_from in rows if paid_from is not None}
