"""Statements summed up by hour, day or month (UTC), by source, or both."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from billing.ledger.raw_rows import rows

# Every line of the wallet, by time of posting, as on the statement itself, so the sums are those of its lines.
_GROUPS = """
WITH line AS (
    SELECT posting.created_at AS moment, COALESCE(meter.source_kind, posting.source_kind) AS source_kind,
           COALESCE(meter.source_id, posting.source_id) AS source_id, COALESCE(meter.label, posting.memo) AS label,
           entry.kind, COALESCE(-usage.charge_micros, entry.amount_micros) AS amount,
           COALESCE(billing_elapsed_us(usage.period_from, usage.period_to), 0) AS elapsed_us
    FROM billing_wallet wallet
    JOIN billing_entry entry ON entry.wallet_id = wallet.id
    JOIN billing_posting posting ON posting.id = entry.posting_id
    LEFT JOIN billing_usage usage ON usage.charge_entry_id = entry.id
    LEFT JOIN billing_meter meter ON meter.id = usage.meter_id
    WHERE wallet.owner_id = %(owner)s AND wallet.kind = 'renter'
      AND (%(since)s::timestamptz IS NULL OR posting.created_at >= %(since)s)
      AND (%(until)s::timestamptz IS NULL OR posting.created_at < %(until)s)
      AND (%(kind)s::text IS NULL OR entry.kind = %(kind)s)
), grouped AS (
    SELECT {bucket} AS begins, {source} AS source_kind, {source_id} AS source_id,
           COALESCE(max(label) FILTER (WHERE elapsed_us > 0),
                    CASE WHEN count(DISTINCT label) FILTER (WHERE kind <> 'coupon') = 1
                         THEN max(label) FILTER (WHERE kind <> 'coupon') END,
                    CASE WHEN count(DISTINCT label) = 1 THEN max(label) END, '') AS label,
           count(*) AS lines, sum(elapsed_us) AS elapsed_us,
           COALESCE(sum(amount) FILTER (WHERE amount < 0), 0) AS spent,
           COALESCE(sum(amount) FILTER (WHERE amount > 0), 0) AS came_in
    FROM line WHERE %(source_id)s::uuid IS NULL OR source_id = %(source_id)s
    GROUP BY 1, 2, 3
)
SELECT begins, source_kind, source_id, label, lines, elapsed_us, spent, came_in
FROM grouped ORDER BY begins DESC NULLS LAST, spent, source_id
"""
BUCKETS: Final = ("hour", "day", "month")


@dataclass(frozen=True)
class Group:
    """Sum of lines.

    `begins` is None when they are not grouped by time, `source_id` when not by source.
    """

    begins: datetime | None
    source_kind: str | None
    source_id: UUID | None
    label: str
    lines: int
    seconds: float
    spent_micros: int
    came_in_micros: int

    @property
    def sum_micros(self) -> int:
        return self.spent_micros + self.came_in_micros


def statement_groups(
    *,
    owner_id: UUID,
    bucket: str = "",
    by_source: bool = False,
    since: datetime | None = None,
    until: datetime | None = None,
    source: UUID | None = None,
    entry_kind: str | None = None,
) -> list[Group]:
    """Return the renter's statement in groups, newest first.

    `bucket` is one of BUCKETS, or empty for the whole time at once.
    """
    query = _GROUPS.format(
        bucket=f"date_trunc('{bucket}', moment, 'UTC')" if bucket in BUCKETS else "NULL::timestamptz",
        source="source_kind" if by_source else "NULL::text",
        source_id="source_id" if by_source else "NULL::uuid",
    )
    found = rows(query, owner=owner_id, since=since, until=until, kind=entry_kind, source_id=source)
    return [_group(row) for row in found]


def used_sources(*, owner_id: UUID) -> list[tuple[UUID, str]]:
    """Return id and label of what the renter has paid for, latest first, as choices of a form."""
    found = rows(_USED, owner=owner_id)
    return [(source_id, label) for source_id, label in found]


_USED = """
SELECT meter.source_id, max(meter.label)
FROM billing_wallet wallet JOIN billing_meter meter ON meter.payer_id = wallet.id
WHERE wallet.owner_id = %(owner)s AND wallet.kind = 'renter' AND meter.source_kind IN ('instance', 'disk', 'hold')
GROUP BY meter.source_id ORDER BY max(meter.opened_at) DESC LIMIT 100
"""


def _group(row: tuple[object, ...]) -> Group:
    begins, kind, source_id, label, lines, elapsed_us, spent, came_in = row
    seconds = int(str(elapsed_us)) / 1_000_000
    return Group(begins, kind, source_id, str(label), int(str(lines)), seconds, int(str(spent)), int(str(came_in)))  # type: ignore[arg-type]  # as the query selects them
