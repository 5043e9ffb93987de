"""Reads of orders and invoices, and of what a month cost a renter, with the part that coupons paid."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from billing.coupons.rules import Step, coupon_part
from billing.invoices.lines import InvoiceLine
from billing.ledger.raw_rows import METER_OF_CREDIT, rows
from billing.models import BillingAddress, Invoice, Order
from common.errors import NotFound

_CHARGED = "('charge', 'prepaid', 'exit_fee', 'refund')"

# Renters whose wallet was charged in the period and who have no invoice for it.
_OWNERS = f"""
SELECT DISTINCT wallet.owner_id
FROM billing_posting posting
JOIN billing_entry entry ON entry.posting_id = posting.id AND entry.kind IN {_CHARGED}
JOIN billing_wallet wallet ON wallet.id = entry.wallet_id AND wallet.kind = 'renter'
WHERE posting.created_at >= %(begin)s AND posting.created_at < %(end)s
  AND NOT EXISTS (SELECT FROM billing_invoice invoice
                  WHERE invoice.owner_id = wallet.owner_id AND invoice.period_from = %(begin)s
                    AND invoice.corrects_id IS NULL)
ORDER BY wallet.owner_id LIMIT %(limit)s
"""  # noqa: S608  constants alone

# Use: one line for each source, label, mode and rate. Its periods may have gaps; the seconds are those that were
# charged.
_USE = """
SELECT 'charge', meter.label, meter.source_kind, meter.source_id, meter.mode,
       min(usage.period_from), max(usage.period_to),
       sum(billing_elapsed_us(usage.period_from, usage.period_to)), usage.rate_micros, meter.rate_hours,
       sum(usage.charge_micros)
FROM billing_wallet wallet
JOIN billing_entry entry ON entry.wallet_id = wallet.id
JOIN billing_posting posting ON posting.id = entry.posting_id AND posting.kind = 'usage'
JOIN billing_usage usage ON usage.charge_entry_id = entry.id
JOIN billing_meter meter ON meter.id = usage.meter_id
WHERE wallet.owner_id = %(owner)s AND wallet.kind = 'renter'
  AND posting.created_at >= %(begin)s AND posting.created_at < %(end)s
GROUP BY meter.source_kind, meter.source_id, meter.label, meter.mode, usage.rate_micros, meter.rate_hours
"""

# What was paid or given back at once. The posting of a refund has its period and rate.
_AT_ONCE = f"""
SELECT entry.kind, posting.memo, posting.source_kind, posting.source_id, '',
       COALESCE(posting.period_from, posting.created_at), COALESCE(posting.period_to, posting.created_at),
       COALESCE(billing_elapsed_us(posting.period_from, posting.period_to), 0), posting.rate_micros_per_hour,
       COALESCE(given.rate_hours, 1), -entry.amount_micros
FROM billing_wallet wallet
JOIN billing_entry entry ON entry.wallet_id = wallet.id AND entry.kind IN {_CHARGED}
JOIN billing_posting posting ON posting.id = entry.posting_id AND posting.kind <> 'usage'
{METER_OF_CREDIT}
WHERE wallet.owner_id = %(owner)s AND wallet.kind = 'renter'
  AND posting.created_at >= %(begin)s AND posting.created_at < %(end)s
ORDER BY entry.id
"""  # noqa: S608  constants alone

# Sources whose coupon money may have been consumed or returned in the period.
_COUPON_SOURCES = """
SELECT DISTINCT draw.source_kind, draw.source_id
FROM billing_coupondraw draw JOIN billing_coupon coupon ON coupon.id = draw.coupon_id
WHERE coupon.owner_id = %(owner)s AND draw.opened_at < %(end)s
  AND (draw.closed_at IS NULL OR draw.closed_at >= %(begin)s
       OR EXISTS (SELECT FROM billing_posting posting
                  WHERE posting.source_kind = draw.source_kind AND posting.source_id = draw.source_id
                    AND posting.kind = 'coupon' AND posting.created_at >= %(begin)s AND posting.created_at < %(end)s))
"""

# A source's history in the ledger's order: coupon money drawn and returned, and payments.
_STEPS = """
SELECT kind, amount, created_at >= %(begin)s FROM (
    SELECT entry.id, CASE WHEN entry.kind <> 'coupon' THEN 'paid' WHEN entry.amount_micros > 0 THEN 'drawn'
                          ELSE 'returned' END AS kind,
           CASE WHEN entry.kind = 'coupon' THEN abs(entry.amount_micros) ELSE -entry.amount_micros END AS amount,
           posting.created_at
    FROM billing_posting posting JOIN billing_entry entry ON entry.posting_id = posting.id
    JOIN billing_wallet wallet ON wallet.id = entry.wallet_id AND wallet.owner_id = %(owner)s AND wallet.kind = 'renter'
    WHERE posting.source_kind = %(kind)s AND posting.source_id = %(source)s AND posting.kind <> 'usage'
    UNION ALL
    SELECT entry.id, 'paid', sum(usage.charge_micros), posting.created_at
    FROM billing_meter meter
    JOIN billing_usage usage ON usage.meter_id = meter.id
    JOIN billing_entry entry ON entry.id = usage.charge_entry_id
    JOIN billing_posting posting ON posting.id = entry.posting_id
    JOIN billing_wallet wallet ON wallet.id = entry.wallet_id AND wallet.owner_id = %(owner)s AND wallet.kind = 'renter'
    WHERE meter.source_kind = %(kind)s AND meter.source_id = %(source)s
    GROUP BY entry.id, posting.created_at
) AS step
WHERE created_at < %(end)s ORDER BY id
"""


def owners_to_invoice(*, begin: datetime, end: datetime, limit: int) -> list[UUID]:
    """Return renters who were charged in the period and have no invoice for it yet."""
    return [row[0] for row in rows(_OWNERS, begin=begin, end=end, limit=limit)]


def lines_of_month(*, owner_id: UUID, begin: datetime, end: datetime) -> list[InvoiceLine]:
    """Return what the renter's wallet was charged, by time of posting: use first, ordered by source."""
    lines = [_line(row) for row in rows(_USE, owner=owner_id, begin=begin, end=end)]
    lines.sort(key=lambda line: (line.begins, line.source_id, line.source_kind, line.what, line.rate_micros or 0))
    return [*lines, *(_line(row) for row in rows(_AT_ONCE, owner=owner_id, begin=begin, end=end))]


def coupon_part_of_month(*, owner_id: UUID, begin: datetime, end: datetime) -> int:
    """Return how much of the charges was coupon money, by replaying each source's history, coupons first."""
    month = {"owner": owner_id, "begin": begin, "end": end}
    sources = rows(_COUPON_SOURCES, **month)
    return sum(coupon_part(_steps(kind, source, month)) for kind, source in sources)


def invoices_of(*, owner_id: UUID) -> QuerySet[Invoice]:
    return Invoice.objects.filter(owner_id=owner_id).select_related("corrects").order_by("-issued_at", "-id")


def invoice_of(*, owner_id: UUID, invoice_id: UUID) -> Invoice:
    """Return one of the owner's invoices.

    Raises:
        NotFound: the owner has no such invoice.
    """
    found = invoices_of(owner_id=owner_id).filter(pk=invoice_id).first()
    if found is None:
        raise NotFound("This invoice doesn't exist.")
    return found


def address_of(*, owner_id: UUID) -> BillingAddress | None:
    return BillingAddress.objects.filter(owner_id=owner_id).first()


@dataclass(frozen=True)
class OrderFilter:
    """Conditions on orders: kind, billing mode, from a moment on, before a moment, source."""

    kind: str = ""
    billing_mode: str = ""
    since: datetime | None = None
    until: datetime | None = None
    source_id: UUID | None = None


def orders_of(*, owner_id: UUID, wanted: OrderFilter) -> QuerySet[Order]:
    """Return the owner's orders that match, newest first."""
    conditions: dict[str, Any] = {
        "kind": wanted.kind,
        "billing_mode": wanted.billing_mode,
        "created_at__gte": wanted.since,
        "created_at__lt": wanted.until,
        "source_id": wanted.source_id,
    }
    chosen = {name: value for name, value in conditions.items() if value}
    return Order.objects.filter(owner_id=owner_id, **chosen).order_by("-created_at", "-id")


def _steps(kind: str, source: UUID, month: dict[str, Any]) -> Iterator[Step]:
    for name, amount, inside in rows(_STEPS, kind=kind, source=source, **month):
        yield Step(name, int(amount), inside)


def _line(row: tuple[Any, ...]) -> InvoiceLine:
    kind, what, source_kind, source_id, mode, begin, end, microseconds, rate, hours, amount = row
    return InvoiceLine(
        kind=kind,
        what=what,
        source_kind=source_kind,
        source_id=source_id.hex,
        mode=mode,
        begins=begin.isoformat(),
        ends=end.isoformat(),
        microseconds=int(microseconds),
        rate_micros=None if rate is None else int(rate),
        rate_hours=int(hours),
        amount_micros=int(amount),
    )
