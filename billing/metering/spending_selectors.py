"""Reads of what a renter has spent: by day, billing mode, or source."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from billing.ledger.raw_rows import rows

# Usage counts when it happened: a period that crosses the end of a span or of a day (UTC) counts where it began.
# One-time payments for a term and refunds count when they were posted.
_SPEND = """
WITH spent AS (
    SELECT usage.period_from AS moment, meter.mode, meter.source_kind, meter.source_id, meter.label, charge_micros AS micros,
           extract(epoch FROM usage.period_to - usage.period_from) AS seconds
    FROM billing_wallet wallet
    JOIN billing_entry entry ON entry.wallet_id = wallet.id AND entry.kind = 'charge'
    JOIN billing_usage usage ON usage.charge_entry_id = entry.id
    JOIN billing_posting posting ON posting.id = entry.posting_id AND posting.created_at >= %(since)s
    JOIN billing_meter meter ON meter.id = usage.meter_id
    WHERE wallet.owner_id = %(owner)s AND wallet.kind = 'renter'
    UNION ALL
    SELECT posting.created_at, CASE WHEN posting.kind = 'term' THEN 'reserved' ELSE COALESCE(meter.mode, '') END,
           posting.source_kind, posting.source_id, COALESCE(meter.label, posting.memo), -entry.amount_micros, 0
    FROM billing_wallet wallet
    JOIN billing_entry entry ON entry.wallet_id = wallet.id AND entry.kind IN ('refund', 'prepaid', 'exit_fee')
    JOIN billing_posting posting ON posting.id = entry.posting_id
    LEFT JOIN LATERAL (
        SELECT mode, label FROM billing_meter
        WHERE billing_meter.source_kind = posting.source_kind AND billing_meter.source_id = posting.source_id
        ORDER BY opened_at DESC LIMIT 1) AS meter ON true
    WHERE wallet.owner_id = %(owner)s AND wallet.kind = 'renter'
)
SELECT {key}, max(label), sum(micros)::bigint, sum(seconds)::float8, max(source_kind),
       (array_agg(source_id ORDER BY moment DESC))[1]
FROM spent WHERE moment >= %(since)s AND moment < %(until)s
GROUP BY 1 ORDER BY 1
"""
_KEYS: Final = {
    "day": "to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
    "mode": "CASE WHEN source_kind IN ('disk', 'volume', 'snapshot') THEN 'storage' ELSE mode END",
    "source": "source_kind || ':' || source_id",
}
_QUERIES: Final = {by: _SPEND.format(key=key) for by, key in _KEYS.items()}


@dataclass(frozen=True)
class Spend:
    """Amount spent on one day ("2026-11-21"), in one mode, or on one source ("instance:<uuid>")."""

    key: str
    label: str
    micros: int
    seconds: float
    source_kind: str
    source_id: UUID


def spend_by(*, owner_id: UUID, since: datetime, until: datetime, by: Literal["day", "mode", "source"]) -> list[Spend]:
    """Return what the renter's wallet spent in [since, until), less refunds, ordered by key."""
    return [Spend(*row) for row in rows(_QUERIES[by], owner=owner_id, since=since, until=until)]
