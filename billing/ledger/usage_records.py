"""Usage rows as records, identical for payer and payee, and signed by the market."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from billing.ledger.raw_rows import rows
from billing.ledger.signing import sign

_COLUMNS: Final = """
SELECT used.id, used.posting_id, used.meter_id, meter.source_kind, meter.source_id, meter.label, meter.mode, meter.gpu_model,
       used.period_from, used.period_to, used.rate_micros, meter.rate_hours, used.charge_micros, used.fee_micros,
       meter.payer_id, meter.payee_id, posting.created_at
FROM billing_usage used
JOIN billing_meter meter ON meter.id = used.meter_id
JOIN billing_posting posting ON posting.id = used.posting_id
"""
# For use that a prepaid term pays, the payer is the market's escrow; the term's prepayment names the renter.
_RECORDS: Final = f"""
WITH own AS (SELECT id FROM billing_wallet WHERE owner_id = %(owner)s AND kind IN ('renter', 'host')), found AS (
    SELECT used.id FROM own JOIN billing_entry entry ON entry.wallet_id = own.id AND entry.kind = 'charge'
    JOIN billing_usage used ON used.charge_entry_id = entry.id
    UNION
    SELECT used.id FROM own JOIN billing_entry entry ON entry.wallet_id = own.id AND entry.kind = 'host_share'
    JOIN billing_usage used ON used.share_entry_id = entry.id
    UNION
    SELECT used.id FROM own JOIN billing_entry entry ON entry.wallet_id = own.id AND entry.kind = 'prepaid'
    JOIN billing_posting paid ON paid.id = entry.posting_id
    JOIN billing_meter meter ON meter.source_kind = paid.source_kind AND meter.source_id = paid.source_id
    JOIN billing_usage used ON used.meter_id = meter.id
)
{_COLUMNS}
JOIN found ON found.id = used.id
WHERE (%(since)s::timestamptz IS NULL OR posting.created_at >= %(since)s)
  AND (%(until)s::timestamptz IS NULL OR posting.created_at < %(until)s) AND used.id > %(after)s
ORDER BY used.id LIMIT %(limit)s
"""  # noqa: S608  constants alone
_ONE: Final = f"{_COLUMNS} WHERE used.id = %(usage)s"


@dataclass(frozen=True)
class SignedRecord:
    """A charged period, byte for byte the same for both sides, with the market's signature."""

    record: dict[str, Any]
    signature: str


def usage_records(
    *, owner_id: UUID, since: datetime | None, until: datetime | None, after: int, limit: int
) -> list[SignedRecord]:
    """Return signed records of what the owner paid for or earned by, oldest first.

    Limited to usage booked in [since, until), after row `after`.
    """
    found = rows(_RECORDS, owner=owner_id, since=since, until=until, after=after, limit=limit)
    return [_signed(row) for row in found]


def usage_record(usage_id: int) -> SignedRecord:
    """Return the record of one row; the caller checks who may read it."""
    return _signed(rows(_ONE, usage=usage_id)[0])


def _signed(row: tuple[Any, ...]) -> SignedRecord:
    usage, posting, meter, kind, source, label, mode, model, begin, end, rate, hours, charge, fee, payer, payee, at = row
    record = {
        "version": 1,
        "usage": usage,
        "posting": posting,
        "meter": str(meter),
        "source": f"{kind}:{source}",
        "what": label,
        "mode": mode,
        "gpu_model": model,
        "period_from": _stamp(begin),
        "period_to": _stamp(end),
        "rate_micros": rate,
        "rate_hours": hours,
        "charge_micros": charge,
        "fee_micros": fee,
        "share_micros": charge - fee,
        "currency": settings.MARKET_CURRENCY,
        "payer": str(payer),
        "payee": str(payee),
        "booked_at": _stamp(at),
    }
    return SignedRecord(record, sign(record))


def _stamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
