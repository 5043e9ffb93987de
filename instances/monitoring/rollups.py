"""Roll-ups of usage: samples to minutes, minutes to hours, hours to days; old rows are deleted."""

from datetime import datetime
from typing import Any, Final

from django.db import connection
from django.db.models import QuerySet

from common.db.transactions import use_case
from instances.constants import ALERTS_KEPT, DAYS_KEPT, HOURS_KEPT, MINUTES_KEPT, SAMPLES_KEPT, TRACES_KEPT
from instances.models import Alert, InstanceSample, InstanceTrace, InstanceUsage

_COLUMNS: Final = (
    "samples, cpu_pct, ram_mb, ram_max_mb, disk_mb, rx_bytes, tx_bytes, gpu_util_pct, gpu_util_max_pct, vram_used_mb, "
    "vram_max_mb, power_w, temperature_c"
)
# From the beginning of the last row, which is made again, since its time may not have been over.
_FROM_SAMPLES = f"""
INSERT INTO instances_instanceusage (instance_id, grain, at, {_COLUMNS})
SELECT instance_id, 'minute', date_trunc('minute', at, 'UTC'), count(*), avg(cpu_pct), avg(ram_mb), max(ram_mb),
       max(disk_mb), sum(rx_bytes), sum(tx_bytes), avg(gpu_util_pct), max(gpu_util_pct), avg(vram_used_mb),
       max(vram_used_mb), avg(power_w), max(temperature_c)
FROM instances_instancesample
WHERE at >= COALESCE((SELECT max(at) FROM instances_instanceusage WHERE grain = 'minute'), '-infinity')
  AND at < %(until)s
GROUP BY 1, 3
"""  # noqa: S608  (constants alone)
_FROM_FINER = f"""
INSERT INTO instances_instanceusage (instance_id, grain, at, {_COLUMNS})
SELECT instance_id, %(grain)s, date_trunc(%(grain)s, at, 'UTC'), sum(samples), sum(cpu_pct * samples) / sum(samples),
       sum(ram_mb * samples) / sum(samples), max(ram_max_mb), max(disk_mb), sum(rx_bytes), sum(tx_bytes),
       sum(gpu_util_pct * samples) / sum(samples), max(gpu_util_max_pct), sum(vram_used_mb * samples) / sum(samples),
       max(vram_max_mb), sum(power_w * samples) / sum(samples), max(temperature_c)
FROM instances_instanceusage
WHERE grain = %(finer)s AND at < %(until)s
  AND at >= COALESCE((SELECT max(at) FROM instances_instanceusage WHERE grain = %(grain)s), '-infinity')
GROUP BY 1, 3
"""  # noqa: S608  (constants alone)
_UPSERT = " ON CONFLICT (instance_id, grain, at) DO UPDATE SET " + ", ".join(
    f"{name} = EXCLUDED.{name}" for name in _COLUMNS.split(", ")
)
_ONE_AT_A_TIME = 5_318_008


def roll_up_use(*, now: datetime) -> int:
    """Bring all roll-ups up to date and return how many rows were written.

    Only one process does so at a time; another one returns 0 at once.
    """
    with use_case(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_ONE_AT_A_TIME])
        row = cursor.fetchone()
        if row is None or not row[0]:
            return 0
        cursor.execute(_FROM_SAMPLES + _UPSERT, {"until": now})
        written = int(cursor.rowcount)
        for finer, grain in (("minute", "hour"), ("hour", "day")):
            cursor.execute(_FROM_FINER + _UPSERT, {"finer": finer, "grain": grain, "until": now})
            written += cursor.rowcount
        return written


def delete_old_samples(*, now: datetime) -> int:
    """Delete rows older than the retention of their resolution, and return their number.

    They were rolled up long before, since each retention is longer than any lag.
    """
    grain = InstanceUsage.Grain
    old: list[QuerySet[Any]] = [
        InstanceTrace.objects.filter(at__lt=now - TRACES_KEPT),
        InstanceSample.objects.filter(at__lt=now - SAMPLES_KEPT),
        InstanceUsage.objects.filter(grain=grain.MINUTE, at__lt=now - MINUTES_KEPT),
        InstanceUsage.objects.filter(grain=grain.HOUR, at__lt=now - HOURS_KEPT),
        InstanceUsage.objects.filter(grain=grain.DAY, at__lt=now - DAYS_KEPT),
        Alert.objects.filter(resolved_at__lt=now - ALERTS_KEPT),
    ]
    with use_case():
        return sum(rows.delete()[0] for rows in old)
