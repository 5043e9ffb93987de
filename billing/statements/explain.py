"""Reads one line of a statement with everything that it follows from."""

from typing import Final
from uuid import UUID

from billing.ledger.raw_rows import rows
from billing.ledger.seals import seal_of
from billing.models import Entry, Meter, Posting, Usage
from billing.pricing.rates import split_charge
from billing.statements.explanation import AdjacentMeter, ChargedPeriod, Explanation
from common.errors import NotFound

_DIGITS: Final = 18

# The periods that the source's adjacent meters are charged for: the one before and the one after.
_AROUND: Final = """
SELECT meter.id, meter.opened_at, billing_meter_end(meter, meter.proven_until), meter.proven_until, meter.funded_until,
       meter.capped_at
FROM billing_meter meter WHERE source_kind = %(kind)s AND source_id = %(source)s
ORDER BY opened_at, proven_until
"""
_HOLD: Final = """
SELECT created_at, released_at, amount_micros FROM billing_hold
WHERE source_kind = %(kind)s AND source_id = %(source)s AND created_at <= %(at)s
ORDER BY created_at DESC LIMIT 1
"""
_PREPAID_BY: Final = """
SELECT 1 FROM billing_posting paid JOIN billing_entry entry ON entry.posting_id = paid.id AND entry.kind = 'prepaid'
JOIN billing_wallet wallet ON wallet.id = entry.wallet_id
WHERE paid.source_kind = %(kind)s AND paid.source_id = %(source)s AND wallet.owner_id = %(owner)s LIMIT 1
"""


def explain_line(*, owner_id: UUID, line_id: str) -> Explanation:
    """Return the explanation of a line in one of the owner's wallets, by its id on the statement.

    Raises:
        NotFound: the owner has no such line.
    """
    entry_id, usage_id = _parse(line_id)
    entry = Entry.objects.select_related("posting", "wallet").filter(pk=entry_id).first()
    if entry is None:
        raise NotFound("This entry doesn't exist.")
    usage = None
    if usage_id is not None:
        usage = Usage.objects.select_related("meter__payer", "meter__payee").filter(pk=usage_id).first()
        if usage is None or entry.pk not in (usage.charge_entry_id, usage.share_entry_id):
            raise NotFound("This entry doesn't exist.")
    if entry.wallet.owner_id != owner_id and not (usage is not None and _prepaid(usage.meter, owner_id)):
        raise NotFound("This entry doesn't exist.")
    posting = entry.posting
    shown = usage or _credited_usage(entry)
    return Explanation(
        id=line_id,
        is_host=entry.wallet.kind == "host",
        kind=entry.kind,
        what=usage.meter.label if usage else posting.memo,
        amount_micros=_amount(entry, usage),
        posting_id=posting.pk,
        posting_key=posting.idempotency_key,
        actor=posting.actor,
        booked_at=posting.created_at,
        source_kind=usage.meter.source_kind if usage else posting.source_kind,
        source_id=usage.meter.source_id if usage else posting.source_id,
        period_from=usage.period_from if usage else posting.period_from,
        period_to=usage.period_to if usage else posting.period_to,
        use=None if shown is None else _use(shown),
        seal=seal_of(posting.pk),
    )


def _amount(entry: Entry, usage: Usage | None) -> int:
    if usage is None:
        return entry.amount_micros
    return usage.charge_micros - usage.fee_micros if entry.pk == usage.share_entry_id else -usage.charge_micros


def _credited_usage(entry: Entry) -> Usage | None:
    """Return a credit as the period that it reverses: an unsaved usage row with the same sum."""
    posting = entry.posting
    if posting.kind != Posting.Kind.CREDIT or posting.period_from is None or posting.period_to is None:
        return None
    meters = Meter.objects.filter(source_kind=posting.source_kind, source_id=posting.source_id)
    within = meters.filter(opened_at__lte=posting.period_from, settled_until__gte=posting.period_to)
    meter = within.select_related("payer", "payee").order_by("opened_at").first()
    if meter is None:
        return None
    fee, share = split_charge(
        meter.tariff, meter.fee_bps, (meter.used_us(posting.period_from), meter.used_us(posting.period_to))
    )
    return Usage(
        meter=meter,
        period_from=posting.period_from,
        period_to=posting.period_to,
        rate_micros=posting.rate_micros_per_hour or 0,
        charge_micros=fee + share,
        fee_micros=fee,
    )


def _use(usage: Usage) -> ChargedPeriod:
    meter = usage.meter
    source = {"kind": meter.source_kind, "source": meter.source_id}
    around = [AdjacentMeter(*row) for row in rows(_AROUND, **source)]
    place = next(number for number, found in enumerate(around) if found.id == meter.pk)
    held = rows(_HOLD, at=usage.period_to, **source)
    return ChargedPeriod(
        usage=usage,
        meter=meter,
        own=around[place],
        before=around[place - 1] if place else None,
        after=around[place + 1] if place + 1 < len(around) else None,
        held_from=held[0][0] if held else None,
        held_until=held[0][1] if held else None,
    )


def _prepaid(meter: Meter, owner_id: UUID) -> bool:
    """Return whether the owner prepaid the term that this meter charges."""
    return bool(rows(_PREPAID_BY, kind=meter.source_kind, source=meter.source_id, owner=owner_id))


def _parse(line_id: str) -> tuple[int, int | None]:
    entry, dash, usage = line_id.partition("-")
    for part in (entry, usage) if dash else (entry,):
        if not (part.isascii() and part.isdecimal() and len(part) <= _DIGITS):
            raise NotFound("This entry doesn't exist.")
    return int(entry), int(usage) if dash else None
