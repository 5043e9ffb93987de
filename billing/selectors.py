"""Reads of the money: live wallets, costs of sources, statements, earnings, and the ledger's audit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet, Sum

from billing.ledger_checks import CHECKS
from billing.models import Entry, Hold, Posting, Wallet
from billing.policy import CLOCK_TOLERANCE
from common import clock

_HOUR = timedelta(hours=1)

_WALLET = """
SELECT wallet.balance_micros, wallet.held_micros, COALESCE(accruing.accrued, 0), COALESCE(running.rate, 0)
FROM billing_wallet wallet
LEFT JOIN LATERAL (
    SELECT sum(billing_cumulative(rate_micros_per_hour, opened_at,
                                  GREATEST(settled_until, LEAST(proven_until, funded_until, capped_at, %(now)s)))
               - billing_cumulative(rate_micros_per_hour, opened_at, settled_until)) AS accrued
    FROM billing_meter
    WHERE payer_id = wallet.id AND settled_until < LEAST(proven_until, funded_until, capped_at)
) AS accruing ON true
LEFT JOIN LATERAL (
    SELECT sum(meter.rate_micros_per_hour) AS rate
    FROM billing_hold hold
    JOIN billing_meter meter USING (source_kind, source_id)
    WHERE hold.wallet_id = wallet.id AND hold.released_at IS NULL
      AND meter.closed_at IS NULL AND (meter.capped_at IS NULL OR meter.capped_at > %(now)s)
) AS running ON true
WHERE wallet.owner_id = %(owner)s AND wallet.kind = 'renter'
"""

# A meter's postings add up to its cumulative price at `settled_until` (I05, I07), so the ledger need not be read.
_COSTS = """
SELECT source_id,
       sum(billing_cumulative(rate_micros_per_hour, opened_at, settled_until)),
       sum(billing_cumulative(rate_micros_per_hour, opened_at, chargeable)
           - billing_cumulative(rate_micros_per_hour, opened_at, settled_until)),
       sum(billing_elapsed_us(opened_at, chargeable)) / 1000000,
       sum(rate_micros_per_hour) FILTER (WHERE closed_at IS NULL),
       max(settled_until) FILTER (WHERE closed_at IS NULL),
       max(funded_until) FILTER (WHERE closed_at IS NULL),
       (SELECT sum(entry.amount_micros) FROM billing_posting posting
        JOIN billing_entry entry ON entry.posting_id = posting.id AND entry.kind = 'refund'
        WHERE posting.kind = 'credit' AND posting.source_kind = %(kind)s AND posting.source_id = meter.source_id)
FROM (SELECT *, GREATEST(settled_until, LEAST(proven_until, funded_until, capped_at, %(now)s)) AS chargeable
      FROM billing_meter WHERE source_kind = %(kind)s AND source_id = ANY(%(sources)s::uuid[])) AS meter
GROUP BY source_id
"""

# Only those whose wallet cannot pay the next hour: after an outage of the renewal sweep a rich renter is not stopped.
_EXHAUSTED = """
SELECT meter.source_id
FROM billing_meter meter
JOIN billing_wallet payer ON payer.id = meter.payer_id
WHERE meter.closed_at IS NULL AND meter.source_kind = %(kind)s AND meter.funded_until <= %(now)s
  AND payer.balance_micros - payer.held_micros < meter.rate_micros_per_hour
ORDER BY meter.funded_until, meter.id
"""

_ACCRUED_EARNINGS = """
SELECT COALESCE(sum(cost - billing_fee(cost, fee_bps::int) - settled + billing_fee(settled, fee_bps::int)), 0)
FROM (SELECT fee_bps, billing_cumulative(rate_micros_per_hour, opened_at, settled_until) AS settled,
             billing_cumulative(rate_micros_per_hour, opened_at, LEAST(proven_until, funded_until, capped_at)) AS cost
      FROM billing_meter meter JOIN billing_wallet payee ON payee.id = meter.payee_id
      WHERE payee.owner_id = %(owner)s AND settled_until < LEAST(proven_until, funded_until, capped_at)) AS accruing
"""

_EARNINGS = """
SELECT (posting.created_at AT TIME ZONE 'UTC')::date AS day, posting.source_kind, posting.source_id,
       -sum(charge.amount_micros), sum(fee.amount_micros), sum(share.amount_micros), posting.kind,
       CASE WHEN posting.kind = 'credit' THEN max(posting.memo) ELSE '' END
FROM billing_entry share
JOIN billing_wallet wallet ON wallet.id = share.wallet_id
JOIN billing_posting posting ON posting.id = share.posting_id
JOIN billing_entry charge ON charge.posting_id = posting.id AND charge.kind IN ('charge', 'refund')
JOIN billing_entry fee ON fee.posting_id = posting.id AND fee.kind = 'platform_fee'
WHERE wallet.owner_id = %(owner)s AND wallet.kind = 'host' AND share.kind = 'host_share'
GROUP BY day, posting.source_kind, posting.source_id, posting.kind
ORDER BY day DESC, posting.source_id, posting.kind DESC
"""


@dataclass(frozen=True)
class WalletView:
    """A renter's wallet as of a moment. Accrued use is not posted yet and is paid out of what is held."""

    balance_micros: int = 0
    held_micros: int = 0
    accrued_micros: int = 0
    burn_micros_per_hour: int = 0

    @property
    def live_micros(self) -> int:
        """The balance less what has been used since the last posting."""
        return self.balance_micros - self.accrued_micros

    @property
    def spendable_micros(self) -> int:
        return self.balance_micros - self.held_micros

    @property
    def runway_hours(self) -> float | None:
        """For how long the money lasts at the present rate; None when nothing runs."""
        return round(self.live_micros / self.burn_micros_per_hour, 1) if self.burn_micros_per_hour else None


@dataclass(frozen=True)
class Cost:
    """What one source has cost so far."""

    settled_micros: int = 0
    accrued_micros: int = 0
    seconds: int = 0
    rate_micros_per_hour: int = 0  # 0 unless it is being metered now
    next_charge_at: datetime | None = None
    funded_until: datetime | None = None
    credited_micros: int = 0  # given back, since the host failed

    @property
    def total_micros(self) -> int:
        return self.settled_micros + self.accrued_micros - self.credited_micros


@dataclass(frozen=True)
class StatementLine:
    """One entry of a wallet in the words of a bill. On a host's statement `charge` is split into `fee` and the amount."""

    id: int
    at: datetime
    kind: str
    what: str
    actor: str
    source_kind: str
    source_id: UUID
    period_from: datetime | None
    period_to: datetime | None
    rate_micros_per_hour: int | None
    amount_micros: int
    balance_after_micros: int
    charge_micros: int | None = None
    fee_micros: int | None = None

    @property
    def seconds(self) -> float | None:
        if self.period_from is None or self.period_to is None:
            return None
        return (self.period_to - self.period_from).total_seconds()


@dataclass(frozen=True)
class EarningLine:
    """What one source earned on one day (UTC, by the day of posting); what was given back is a line of its own."""

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
    """A host owner's earnings: posted in all, proven but not yet posted, and day by day."""

    balance_micros: int
    charge_micros: int
    fee_micros: int
    share_micros: int
    accrued_micros: int
    lines: tuple[EarningLine, ...]


@dataclass(frozen=True)
class Finding:
    """Something that breaks an invariant of the ledger."""

    code: str
    says: str
    subject: str
    detail: str

    def __str__(self) -> str:
        return f"{self.code} {self.subject}: {self.detail} (must hold: {self.says})"


def wallet_of(*, owner_id: UUID, now: datetime) -> WalletView:
    """The renter's wallet as of `now`; an empty one for who has none yet."""
    rows = _rows(_WALLET, owner=owner_id, now=now)
    if not rows:
        return WalletView()
    balance, held, accrued, burn = (int(value) for value in rows[0])
    return WalletView(balance, held, accrued, burn)


def costs_of(*, source_kind: str, source_ids: Sequence[UUID], now: datetime) -> dict[UUID, Cost]:
    """What each source has cost so far; a source without a meter has cost nothing."""
    costs = {source_id: Cost() for source_id in source_ids}
    for row in _rows(_COSTS, kind=source_kind, sources=list(source_ids), now=now):
        source_id, settled, accrued, seconds, rate, settled_until, funded_until, credited = row
        costs[source_id] = Cost(
            settled_micros=int(settled),
            accrued_micros=int(accrued),
            seconds=int(seconds),
            rate_micros_per_hour=int(rate or 0),
            next_charge_at=None if settled_until is None else settled_until + _HOUR,
            funded_until=funded_until,
            credited_micros=int(credited or 0),
        )
    return costs


def exhausted_sources(*, source_kind: str, now: datetime) -> list[UUID]:
    """Sources that run on although their hold is used up and their wallet cannot pay for another hour."""
    return [row[0] for row in _rows(_EXHAUSTED, kind=source_kind, now=now)]


def open_holds(*, source_kind: str, source_ids: Sequence[UUID] | None = None) -> dict[UUID, int]:
    """What is held for each source of this kind, or for these of them; a source without an open hold is left out."""
    holds = Hold.objects.filter(source_kind=source_kind, released_at__isnull=True)
    chosen = holds if source_ids is None else holds.filter(source_id__in=source_ids)
    return dict(chosen.order_by().values_list("source_id", "amount_micros"))


def entries_of(*, owner_id: UUID, kind: str = Wallet.Kind.RENTER) -> QuerySet[Entry]:
    """The entries of the owner's wallet, newest first; a page of them becomes a statement by `statement_of`."""
    entries = Entry.objects.filter(wallet__owner_id=owner_id, wallet__kind=kind)
    return entries.select_related("posting").order_by("-id")


def statement_of(entries: Sequence[Entry]) -> list[StatementLine]:
    """Statement lines of adjacent entries of one wallet, newest first.

    A wallet's entries are written under its lock, so their ids are in the order in which the balance moved.
    """
    if not entries:
        return []
    newest = entries[0]
    before = Entry.objects.filter(wallet_id=newest.wallet_id, id__lte=newest.pk)
    balance = before.aggregate(total=Sum("amount_micros"))["total"]
    splits = _splits([entry.posting_id for entry in entries if entry.kind == Entry.Kind.HOST_SHARE])
    lines = []
    for entry in entries:
        lines.append(_line(entry, balance, splits.get(entry.posting_id, {})))
        balance -= entry.amount_micros
    return lines


def statement_lines(*, owner_id: UUID, kind: str = Wallet.Kind.RENTER, limit: int | None = None) -> list[StatementLine]:
    """The owner's statement, newest first: the whole of it, or the newest `limit` lines."""
    return statement_of(list(entries_of(owner_id=owner_id, kind=kind)[:limit]))


def earnings_of(*, owner_id: UUID) -> Earnings:
    """What the host owner has earned."""
    rows = _rows(_EARNINGS, owner=owner_id)
    lines = tuple(EarningLine(*row[:3], *(int(value) for value in row[3:6]), *row[6:]) for row in rows)
    wallet = Wallet.objects.filter(owner_id=owner_id, kind=Wallet.Kind.HOST).first()
    return Earnings(
        balance_micros=wallet.balance_micros if wallet else 0,
        charge_micros=sum(line.charge_micros for line in lines),
        fee_micros=sum(line.fee_micros for line in lines),
        share_micros=sum(line.share_micros for line in lines),
        accrued_micros=int(_rows(_ACCRUED_EARNINGS, owner=owner_id)[0][0]),
        lines=lines,
    )


def ledger_findings() -> list[Finding]:
    """Everything that breaks an invariant of the ledger; empty when all is well."""
    return list(_findings(clock.now() + CLOCK_TOLERANCE))


def _findings(latest: datetime) -> Iterator[Finding]:
    for check in CHECKS:
        for subject, detail in _rows(check.query, latest=latest):
            yield Finding(check.code, check.says, subject, detail)


def _splits(posting_ids: Sequence[int]) -> dict[int, dict[str, int]]:
    splits: dict[int, dict[str, int]] = {}
    sides = Entry.objects.filter(posting_id__in=posting_ids).values_list("posting_id", "kind", "amount_micros")
    for posting_id, kind, amount in sides:
        splits.setdefault(posting_id, {})[kind] = amount
    return splits


def _line(entry: Entry, balance_after: int, split: dict[str, int]) -> StatementLine:
    posting: Posting = entry.posting
    return StatementLine(
        id=entry.pk,
        at=posting.created_at,
        kind=entry.kind,
        what=posting.memo,
        actor=posting.actor,
        source_kind=posting.source_kind,
        source_id=posting.source_id,
        period_from=posting.period_from,
        period_to=posting.period_to,
        rate_micros_per_hour=posting.rate_micros_per_hour,
        amount_micros=entry.amount_micros,
        balance_after_micros=balance_after,
        charge_micros=-(split.get(Entry.Kind.CHARGE, 0) + split.get(Entry.Kind.REFUND, 0)) if split else None,
        fee_micros=split[Entry.Kind.PLATFORM_FEE] if split else None,
    )


def _rows(query: str, **parameters: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return list(cursor.fetchall())
