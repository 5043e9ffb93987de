"""Explanation of a statement line, with its instance and the reports that prove its period."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from billing.constants import DISK_SOURCE, HOLD_SOURCE, INSTANCE_SOURCE, PROOF_BRIDGE, RETENTION_SOURCE, TERM_SOURCE
from billing.ledger.usage_records import SignedRecord, usage_record
from billing.statements.explain import explain_line
from billing.statements.explanation import Explanation
from instances.models import Instance, Term

# Readings within the period and up to the bridge before it, with the longest time between two of them.
_REPORTS = """
SELECT count(*) FILTER (WHERE at >= %(since)s), min(at), max(at), max(at - before), avg(gpu_util_pct)
FROM (SELECT at, gpu_util_pct, lag(at) OVER (ORDER BY at) AS before FROM instances_instancesample
      WHERE instance_id = %(instance)s AND at >= %(since)s - %(bridge)s AND at <= %(until)s) AS reading
"""
_LAST_REPORTS = """
SELECT at, gpu_util_pct, vram_used_mb, cpu_pct, ram_mb FROM instances_instancesample
WHERE instance_id = %(instance)s AND at >= %(since)s AND at <= %(until)s ORDER BY at LIMIT %(limit)s
"""
SHOWN = 200


@dataclass(frozen=True)
class Reading:
    """Usage measured by the host's agent in one report."""

    at: datetime
    gpu_util_pct: float
    vram_used_mb: int
    cpu_pct: float
    ram_mb: int


@dataclass(frozen=True)
class Reports:
    """Stored reports of a period: number, first, last, and the longest time between two."""

    count: int
    first: datetime | None
    last: datetime | None
    longest: timedelta | None
    mean_gpu_pct: float | None
    readings: list[Reading]


@dataclass(frozen=True)
class LineEvidence:
    """Everything that a statement line's page shows."""

    line: Explanation
    instance: Instance | None
    reports: Reports | None
    signed: SignedRecord | None


def explain_with_reports(*, owner_id: UUID, line_id: str) -> LineEvidence:
    """Explain the owner's statement line, or raise NotFound."""
    line = explain_line(owner_id=owner_id, line_id=line_id)
    instance = _instance_of(line)
    proven = line.use is not None and not line.use.meter.calendar and instance is not None
    return LineEvidence(
        line=line,
        instance=instance,
        reports=_reports(instance, line) if proven and instance is not None else None,
        signed=None if line.use is None or line.use.is_given_back else usage_record(line.use.usage.pk),
    )


def _instance_of(line: Explanation) -> Instance | None:
    if line.source_kind in (INSTANCE_SOURCE, DISK_SOURCE, HOLD_SOURCE, RETENTION_SOURCE):
        return Instance.objects.filter(pk=line.source_id).first()
    if line.source_kind == TERM_SOURCE:
        term = Term.objects.select_related("instance").filter(pk=line.source_id).first()
        return None if term is None else term.instance
    return None


def _reports(instance: Instance, line: Explanation) -> Reports:
    values: dict[str, Any] = {
        "instance": instance.pk,
        "since": line.period_from,
        "until": line.period_to,
        "bridge": PROOF_BRIDGE,
        "limit": SHOWN,
    }
    with connection.cursor() as cursor:
        cursor.execute(_REPORTS, values)
        count, first, last, longest, mean_gpu_pct = cursor.fetchone()
        cursor.execute(_LAST_REPORTS, values)
        return Reports(count, first, last, longest, mean_gpu_pct, [Reading(*row) for row in cursor.fetchall()])
