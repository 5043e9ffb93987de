"""Reads of a host owner's earnings, day by day."""

from dataclasses import dataclass
from datetime import date
from uuid import UUID

from billing.ledger.raw_rows import rows
from billing.models import Posting, Wallet
from common import clock

_ACCRUED_EARNINGS = """
SELECT COALESCE(sum(cost - billing_fee(cost, fee_bps) - settled + billing_fee(settled, fee_bps)), 0)
FROM (SELECT fee_bps, billing_meter_cost(meter, settled_until) AS settled,
             billing_meter_cost(meter, GREATEST(settled_until, LEAST(billing_meter_end(meter, %(now)s), %(now)s))) AS cost
      FROM billing_meter meter JOIN billing_wallet payee ON payee.id = meter.payee_id
      WHERE payee.owner_id = %(owner)s AND payee.kind = 'host' AND NOT is_finished) AS accruing
"""

_EARNINGS = """
SELECT (posting.created_at AT TIME ZONE 'UTC')::date AS day, meter.source_kind, meter.source_id,
       sum(charge_micros)::bigint, sum(fee_micros)::bigint, sum(charge_micros - fee_micros)::bigint, 'usage' AS kind, ''
FROM billing_wallet wallet
JOIN billing_entry share ON share.wallet_id = wallet.id AND share.kind = 'host_share'
JOIN billing_usage usage ON usage.share_entry_id = share.id
JOIN billing_posting posting ON posting.id = share.posting_id
JOIN billing_meter meter ON meter.id = usage.meter_id
WHERE wallet.owner_id = %(owner)s AND wallet.kind = 'host'
GROUP BY day, meter.source_kind, meter.source_id
UNION ALL
SELECT (posting.created_at AT TIME ZONE 'UTC')::date, posting.source_kind, posting.source_id,
       -sum(refund.amount_micros)::bigint, sum(fee.amount_micros)::bigint, sum(share.amount_micros)::bigint, 'credit',
       max(posting.memo)
FROM billing_wallet wallet
JOIN billing_entry share ON share.wallet_id = wallet.id AND share.kind = 'host_share'
JOIN billing_posting posting ON posting.id = share.posting_id AND posting.kind = 'credit'
JOIN billing_entry refund ON refund.posting_id = posting.id AND refund.kind = 'refund'
JOIN billing_entry fee ON fee.posting_id = posting.id AND fee.kind = 'platform_fee'
WHERE wallet.owner_id = %(owner)s AND wallet.kind = 'host'
GROUP BY 1, 2, 3
ORDER BY day DESC, source_id, kind DESC
"""


@dataclass(frozen=True)
class EarningLine:
    """Earnings of one source on one day (UTC, by time of posting); credits are lines of their own."""

    day: date
    source_kind: str
    source_id: UUID
    charge_micros: int
    fee_micros: int
    share_micros: int
    kind: str = Posting.Kind.USAGE.value
    why: str = ""

    @property
    def is_given_back(self) -> bool:
        return self.kind == Posting.Kind.CREDIT


@dataclass(frozen=True)
class Earnings:
    """A host owner's earnings: posted in total, proven but not posted yet, and day by day."""

    balance_micros: int
    charge_micros: int
    fee_micros: int
    share_micros: int
    accrued_micros: int
    lines: tuple[EarningLine, ...]


def earnings_of(*, owner_id: UUID) -> Earnings:
    """Return the host owner's earnings."""
    lines = tuple(EarningLine(*row) for row in rows(_EARNINGS, owner=owner_id))
    wallet = Wallet.objects.filter(owner_id=owner_id, kind=Wallet.Kind.HOST).first()
    return Earnings(
        balance_micros=wallet.balance_micros if wallet else 0,
        charge_micros=sum(line.charge_micros for line in lines),
        fee_micros=sum(line.fee_micros for line in lines),
        share_micros=sum(line.share_micros for line in lines),
        accrued_micros=int(rows(_ACCRUED_EARNINGS, owner=owner_id, now=clock.now())[0][0]),
        lines=lines,
    )
