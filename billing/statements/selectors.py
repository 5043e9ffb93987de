"""Reads of a wallet's statement: a line per entry or charged period, each with the balance after it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from billing.ledger.raw_rows import METER_OF_CREDIT, rows
from billing.models import Entry
from common.errors import InvalidInput

# The balance after an entry is the wallet's balance less all entries after it, in one snapshot. An entry for usage
# stands for its rows, latest first; a row's balance leaves out those above it. Entries are read newest first and only
# as far as needed.
_STATEMENT = """
WITH wallet AS (
    SELECT id, balance_micros FROM billing_wallet WHERE owner_id = %(owner)s AND kind = %(wallet)s
), asked AS (
    SELECT * FROM unnest(%(source_kinds)s::text[], %(source_ids)s::uuid[]) AS asked (kind, id)
), of_source AS (
    SELECT usage.{side} AS id FROM asked
    JOIN billing_meter meter ON meter.source_id = asked.id AND (asked.kind IS NULL OR meter.source_kind = asked.kind)
    JOIN billing_usage usage ON usage.meter_id = meter.id
    UNION
    SELECT entry.id FROM asked
    JOIN billing_posting posting ON posting.source_id = asked.id AND (asked.kind IS NULL OR posting.source_kind = asked.kind)
    JOIN billing_entry entry ON entry.posting_id = posting.id
), ledger AS (
    SELECT entry.id, entry.posting_id, entry.kind, entry.amount_micros,
           balance_micros - COALESCE(sum(entry.amount_micros) OVER (
               ORDER BY entry.id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS balance_after
    FROM wallet JOIN billing_entry entry ON entry.wallet_id = wallet.id
)
SELECT ledger.id, line.id, posting.created_at, ledger.kind, COALESCE(meter.label, posting.memo), posting.actor,
       COALESCE(meter.source_kind, posting.source_kind), COALESCE(meter.source_id, posting.source_id),
       COALESCE(line.period_from, posting.period_from), COALESCE(line.period_to, posting.period_to),
       COALESCE(line.rate_micros, posting.rate_micros_per_hour), COALESCE(meter.rate_hours, given.rate_hours, 1),
       COALESCE(line.amount, ledger.amount_micros), (ledger.balance_after - COALESCE(line.above, 0))::bigint,
       line.charge_micros, line.fee_micros, posting.id, COALESCE(meter.mode, '')
FROM ledger
JOIN billing_posting posting ON posting.id = ledger.posting_id
LEFT JOIN LATERAL (
    SELECT usage.*, {amount} AS amount,
           sum({amount}) OVER (ORDER BY period_to DESC, usage.id DESC
                               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS above
    FROM billing_usage usage WHERE usage.{side} = ledger.id) AS line ON true
LEFT JOIN billing_meter meter ON meter.id = line.meter_id
{given}
WHERE (%(entry)s::bigint IS NULL OR ledger.id < %(entry)s
       OR ledger.id = %(entry)s AND (line.period_to, line.id) < (
           SELECT period_to, id FROM billing_usage WHERE id = %(usage)s))
  AND (%(since)s::timestamptz IS NULL OR posting.created_at >= %(since)s)
  AND (%(until)s::timestamptz IS NULL OR posting.created_at < %(until)s)
  AND (%(kinds)s::text[] IS NULL OR ledger.kind = ANY(%(kinds)s::text[]))
  AND (%(source_ids)s::uuid[] IS NULL OR ledger.id IN (SELECT id FROM of_source) AND EXISTS (
       SELECT FROM asked WHERE asked.id = COALESCE(meter.source_id, posting.source_id)
       AND (asked.kind IS NULL OR asked.kind = COALESCE(meter.source_kind, posting.source_kind))))
ORDER BY ledger.id DESC, line.period_to DESC, line.id DESC
LIMIT %(limit)s
"""
_PAYER = _STATEMENT.format(side="charge_entry_id", amount="-charge_micros", given=METER_OF_CREDIT)
_PAYEE = _STATEMENT.format(side="share_entry_id", amount="charge_micros - fee_micros", given=METER_OF_CREDIT)

# What a credit took back from all three, for a host's statement.
_SPLITS = """
SELECT posting_id, -sum(amount_micros) FILTER (WHERE kind = 'refund'),
       sum(amount_micros) FILTER (WHERE kind = 'platform_fee')
FROM billing_entry WHERE posting_id = ANY(%(postings)s) GROUP BY posting_id
"""

Source = UUID | tuple[str, UUID] | list[tuple[str, UUID]]
ENTRY_KINDS: Final = tuple(Entry.Kind.values)
UNITS: Final = {1: "hour", 24: "day"}


@dataclass(frozen=True)
class StatementLine:
    """One line of a wallet's statement.

    On a host's statement, `charge` is split into `fee` and the amount.
    """

    id: str  # the entry's number, and after a hyphen the usage row's; it is also the cursor of the next page
    at: datetime
    kind: str
    what: str
    actor: str
    source_kind: str
    source_id: UUID
    period_from: datetime | None
    period_to: datetime | None
    rate_micros: int | None  # for each `hours` hours
    hours: int
    amount_micros: int
    balance_after_micros: int
    charge_micros: int | None = None
    fee_micros: int | None = None
    posting_id: int = 0
    usage_id: int | None = None
    mode: str = ""

    @property
    def seconds(self) -> float | None:
        if self.period_from is None or self.period_to is None:
            return None
        return (self.period_to - self.period_from).total_seconds()

    @property
    def microseconds(self) -> int | None:
        """Return the length of the period as a whole number, so that it can be multiplied by hand."""
        if self.period_from is None or self.period_to is None:
            return None
        return (self.period_to - self.period_from) // timedelta(microseconds=1)

    @property
    def unit(self) -> str:
        """Return what the rate is for: "hour", "day", or empty without a rate."""
        return "" if self.rate_micros is None else UNITS.get(self.hours, f"{self.hours} hours")

    @property
    def rate_micros_per_hour(self) -> int | None:
        """Return the rate where it is one per hour."""
        return self.rate_micros if self.hours == 1 else None


def statement_lines(
    *,
    owner_id: UUID,
    kind: str = "renter",
    since: datetime | None = None,
    until: datetime | None = None,
    source: Source | None = None,
    entry_kind: str | Sequence[str] | None = None,
    limit: int | None = None,
    cursor: str = "",
) -> list[StatementLine]:
    """Return the statement of the owner's wallet, newest first, posted within [since, until).

    `source` is a source or several, or an id for all that is metered under it; `entry_kind` is a kind of entry or
    several. `cursor` is the id of the last line seen: what follows it does not move, whatever is posted meanwhile.

    Raises:
        InvalidInput: `cursor` is not valid.
    """
    entry, usage = _parse(cursor)
    source_ids = None if source is None else _source_ids(source)
    found = rows(
        _PAYEE if kind == "host" else _PAYER,
        owner=owner_id,
        wallet=kind,
        since=since,
        until=until,
        kinds=[entry_kind] if isinstance(entry_kind, str) else entry_kind and list(entry_kind),
        source_kinds=source_ids and [kind for kind, _ in source_ids],
        source_ids=source_ids and [source_id for _, source_id in source_ids],
        entry=entry,
        usage=usage,
        limit=limit,
    )
    lines = [_line(row, kind) for row in found]
    return _with_splits(lines) if kind == "host" else lines


def _source_ids(source: Source) -> list[tuple[str | None, UUID]]:
    if isinstance(source, UUID):
        return [(None, source)]
    if isinstance(source, tuple):
        return [source]
    return list(source)


def _line(row: tuple[Any, ...], kind: str) -> StatementLine:
    entry_id, usage_id, *facts, charge, fee, posting_id, mode = row
    line_id = f"{entry_id}" if usage_id is None else f"{entry_id}-{usage_id}"
    facts += [*((charge, fee) if kind == "host" else (None, None)), posting_id, usage_id, mode]
    return StatementLine(line_id, *facts)


def _with_splits(lines: list[StatementLine]) -> list[StatementLine]:
    wanted = [line.posting_id for line in lines if line.kind == "host_share" and line.usage_id is None]
    if not wanted:
        return lines
    splits = {posting: (charge, fee) for posting, charge, fee in rows(_SPLITS, postings=wanted)}
    return [
        line
        if line.posting_id not in splits or line.usage_id is not None
        else replace(line, charge_micros=int(splits[line.posting_id][0]), fee_micros=int(splits[line.posting_id][1]))
        for line in lines
    ]


def _parse(cursor: str) -> tuple[int | None, int | None]:
    if not cursor:
        return None, None
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise InvalidInput("Invalid statement cursor.")
    entry, usage = found.groups()
    return int(entry), int(usage) if usage else None


_CURSOR = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
