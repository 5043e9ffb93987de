"""Reads of how long sources have been used without an interruption that counts."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from billing.ledger.raw_rows import rows

_LAST = """
SELECT DISTINCT ON (source_id) source_id, base_us + billing_elapsed_us(opened_at, ends), ends
FROM billing_meter meter
CROSS JOIN LATERAL (
    SELECT GREATEST(opened_at, LEAST(billing_meter_end(meter, %(now)s), %(now)s)) AS ends) AS charged
WHERE source_kind = %(kind)s AND source_id = ANY(%(sources)s::uuid[]) AND mode <> 'cpu'
ORDER BY source_id, closed_at IS NULL DESC, proven_until DESC, opened_at DESC
"""


def continuous_use(*, source_kind: str, source_ids: Sequence[UUID], now: datetime) -> dict[UUID, tuple[int, datetime]]:
    """Return for each source its continuous use in microseconds, and when that use ended.

    Sources that never had a meter are left out.
    """
    found = rows(_LAST, kind=source_kind, sources=list(source_ids), now=now)
    return {source_id: (int(used_us), ends) for source_id, used_us, ends in found}
