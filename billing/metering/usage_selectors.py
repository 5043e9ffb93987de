"""Reads of usage rows as lines of a bill."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from billing.ledger.raw_rows import rows

# By the payer's or the payee's entries, newest first; for one source, by its meters.
_USAGE = """
SELECT usage.id, usage.posting_id, usage.meter_id, meter.source_kind, meter.source_id, meter.label, meter.mode,
       meter.gpu_model, posting.created_at,
       usage.period_from, usage.period_to, usage.rate_micros, rate_hours, charge_micros, fee_micros
FROM billing_wallet wallet
JOIN billing_entry entry ON entry.wallet_id = wallet.id AND entry.kind = %(entry_kind)s
JOIN billing_usage usage ON usage.{side} = entry.id
JOIN billing_posting posting ON posting.id = entry.posting_id
JOIN billing_meter meter ON meter.id = usage.meter_id
WHERE wallet.owner_id = %(owner)s AND wallet.kind = %(kind)s
  AND (%(since)s::timestamptz IS NULL OR usage.period_to > %(since)s)
  AND (%(until)s::timestamptz IS NULL OR usage.period_from < %(until)s)
  AND (%(since)s::timestamptz IS NULL OR posting.created_at > %(since)s)
  AND (%(source_id)s::uuid IS NULL OR usage.meter_id IN (
       SELECT id FROM billing_meter WHERE source_id = %(source_id)s AND source_kind = ANY(%(source_kinds)s)))
ORDER BY usage.period_from, usage.id
"""
_PAID = _USAGE.format(side="charge_entry_id")
_EARNED = _USAGE.format(side="share_entry_id")


@dataclass(frozen=True)
class UsageLine:
    """Charged period of a meter, at `rate_micros` for each `hours` hours."""

    id: int
    posting_id: int
    meter_id: UUID
    source_kind: str
    source_id: UUID
    label: str
    mode: str
    gpu_model: str
    at: datetime
    period_from: datetime
    period_to: datetime
    rate_micros: int
    hours: int
    charge_micros: int
    fee_micros: int

    @property
    def share_micros(self) -> int:
        return self.charge_micros - self.fee_micros

    @property
    def seconds(self) -> float:
        return (self.period_to - self.period_from).total_seconds()


def usage_lines(
    *,
    owner_id: UUID,
    kind: str = "renter",
    since: datetime | None = None,
    until: datetime | None = None,
    source: tuple[str, UUID] | None = None,
) -> list[UsageLine]:
    """Return what the owner's wallet paid for (renter) or earned by (host), oldest first.

    Includes every period that overlaps [since, until), in full: a period that crosses an end of the span is not
    cut.
    """
    found = rows(
        _EARNED if kind == "host" else _PAID,
        owner=owner_id,
        kind=kind,
        entry_kind="host_share" if kind == "host" else "charge",
        since=since,
        until=until,
        source_id=source[1] if source else None,
        source_kinds=[source[0]] if source else [],
    )
    return [UsageLine(*row) for row in found]
