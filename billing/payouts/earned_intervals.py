"""Reads of what a host owner has earned, in pieces that callers assign to hosts and GPUs."""

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from billing.ledger.raw_rows import rows

# Lines of use with equal cost are counted, not listed: most hours of a meter are equal. Everything else that moved
# the host's wallet (credits, the early end of a term) is a posting of its own. Payouts and repayments are not
# earnings.
_PIECES = """
WITH earned AS (
    SELECT entry.id, entry.amount_micros, posting.id AS posting_id, posting.kind, posting.source_kind, posting.source_id,
           posting.memo, posting.created_at, COALESCE(posting.period_from, posting.created_at) AS at,
           (posting.created_at AT TIME ZONE 'UTC')::date AS day
    FROM billing_wallet wallet
    JOIN billing_entry entry ON entry.wallet_id = wallet.id AND entry.kind NOT IN ('payout', 'repayment')
    JOIN billing_posting posting ON posting.id = entry.posting_id
    WHERE wallet.owner_id = %(owner)s AND wallet.kind = 'host'
      AND posting.created_at >= %(since)s AND posting.created_at < %(until)s
)
SELECT day, 'usage', meter.source_kind, meter.source_id, meter.opened_at, charge_micros, fee_micros, pieces, seconds, ''
FROM (SELECT day, meter_id, charge_micros, fee_micros, count(*) AS pieces,
             sum(EXTRACT(EPOCH FROM period_to - period_from)) AS seconds
      FROM earned JOIN billing_usage usage ON usage.share_entry_id = earned.id
      GROUP BY day, meter_id, charge_micros, fee_micros) AS used
JOIN billing_meter meter ON meter.id = used.meter_id
UNION ALL
SELECT day, kind, source_kind, source_id, at, amount_micros + COALESCE(fee, 0), COALESCE(fee, 0), 1, 0, memo
FROM earned
LEFT JOIN LATERAL (SELECT sum(amount_micros) AS fee FROM billing_entry
                   WHERE posting_id = earned.posting_id AND kind = 'platform_fee') AS fees ON true
WHERE kind <> 'usage'
"""

_ACCRUED = """
SELECT COALESCE(sum(cost - billing_fee(cost, fee_bps::int) - settled + billing_fee(settled, fee_bps::int)), 0)
FROM (SELECT fee_bps, billing_meter_cost(meter, settled_until) AS settled,
             billing_meter_cost(meter, GREATEST(settled_until, billing_meter_end(meter, %(now)s))) AS cost
      FROM billing_meter meter JOIN billing_wallet payee ON payee.id = meter.payee_id
      WHERE payee.owner_id = %(owner)s AND payee.kind = 'host' AND NOT is_finished) AS accruing
"""


@dataclass(frozen=True)
class EarnedPiece:
    """`count` equal lines of one day (UTC, by time of booking), each with this charge and fee.

    `at` is a moment within the use: who held the GPUs then earned it. A credit has a negative charge and fee.
    """

    day: date
    kind: str
    source_kind: str
    source_id: UUID
    at: datetime
    charge_micros: int
    fee_micros: int
    count: int
    seconds: float
    why: str


def earned_pieces(*, owner_id: UUID, since: datetime, until: datetime) -> list[EarnedPiece]:
    """Return what the owner earned in [since, until), fee included, by day and source."""
    return [
        EarnedPiece(day, kind, source_kind, source_id, at, int(charge), int(fee), int(count), float(seconds), why)
        for day, kind, source_kind, source_id, at, charge, fee, count, seconds, why in rows(
            _PIECES, owner=owner_id, since=since, until=until
        )
    ]


def accrued_earnings(*, owner_id: UUID, now: datetime) -> int:
    """Return the owner's share of use that is proven and not booked yet."""
    return int(rows(_ACCRUED, owner=owner_id, now=now)[0][0])
