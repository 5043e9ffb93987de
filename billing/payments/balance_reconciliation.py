"""Comparison of movements of money at Stripe with postings of the same amounts, in both directions."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice

from django.conf import settings
from django.db.models import Sum

from billing.constants import DISPUTE_SOURCE, REFUND_SOURCE, TOP_UP_SOURCE
from billing.models import Dispute, Entry, Payment, Posting, Refund, Wallet
from billing.states import RefundState
from billing.stripe import client
from billing.stripe.objects import BalanceLine
from common.money import format_money

_BATCH = 500
_SETTLES_WITHIN = timedelta(hours=1)
_CHARGES = frozenset({"charge", "payment"})
_REFUNDS = frozenset({"refund", "payment_refund"})
_RETURNED = frozenset({"refund_failure", "payment_failure_refund"})
_DISPUTES = frozenset({"adjustment"})
_WATCHED = _CHARGES | _REFUNDS | _RETURNED | _DISPUTES
_KINDS = (Posting.Kind.TOP_UP, Posting.Kind.REFUND, Posting.Kind.DISPUTE)


def compare_balance(*, since: datetime, until: datetime, foreign: set[str]) -> Iterator[str]:
    """Yield the differences as texts.

    Stripe's own fees are ignored: they are the market's cost, not the renters' money.
    """
    seen: set[str] = set()
    lines = (line for line in client.balance_since(since) if line.kind in _WATCHED and line.source_id not in foreign)
    for batch in _batches(lines):
        keys = _keys(batch)
        seen.update(keys.values())
        posted = _posted(keys.values())
        for line in batch:
            yield from _difference(line, keys.get(line.id), posted)
    yield from _without_movement(since, until - _SETTLES_WITHIN, seen)


def _difference(line: BalanceLine, key: str | None, posted: dict[str, int]) -> Iterator[str]:
    what = f"{line.kind} {line.source_id} of {format_money(line.amount_micros)}"
    if key is not None and line.currency != settings.MARKET_CURRENCY:
        yield f"Stripe has {what} {line.currency}; the market's currency is {settings.MARKET_CURRENCY}"
    elif not line.settles:
        yield f"Stripe has {what}; what it has settled is not that at the exchange rate that it names"
    if key is None or key not in posted:
        if line.kind in _DISPUTES and key is None:
            return  # an adjustment that Stripe made for another reason than one of our disputes
        yield f"Stripe has {what}; the ledger has nothing"
    elif posted[key] != line.amount_micros:
        yield f"Stripe has {what}; the ledger has {format_money(posted[key])}"


def _keys(lines: Sequence[BalanceLine]) -> dict[str, str]:
    """Return the posting key that each movement must have, where its payment, refund or dispute is known."""
    sources = [line.source_id for line in lines]
    charges = dict(Payment.objects.filter(charge_id__in=sources).values_list("charge_id", "pk"))
    refunds = dict(Refund.objects.filter(stripe_id__in=sources).values_list("stripe_id", "pk"))
    disputes = set(Dispute.objects.filter(stripe_id__in=sources).values_list("stripe_id", flat=True))
    keys = {}
    for line in lines:
        if line.kind in _CHARGES and line.source_id in charges:
            keys[line.id] = f"topup:{charges[line.source_id].hex}"
        elif line.kind in _REFUNDS | _RETURNED and line.source_id in refunds:
            keys[line.id] = f"refund:{refunds[line.source_id].hex}" + (":returned" if line.kind in _RETURNED else "")
        elif line.kind in _DISPUTES and line.source_id in disputes:
            keys[line.id] = f"dispute:{line.source_id}" + (":won" if line.amount_micros > 0 else "")
    return keys


def _posted(keys: Iterable[str]) -> dict[str, int]:
    """Return for each posting what the market's money at Stripe gained by it."""
    entries = Entry.objects.filter(posting__idempotency_key__in=list(keys), wallet__kind=Wallet.Kind.STRIPE)
    rows = entries.values_list("posting__idempotency_key").annotate(total=Sum("amount_micros"))
    return {key: -total for key, total in rows}


def _without_movement(since: datetime, until: datetime, seen: set[str]) -> Iterator[str]:
    """Yield postings of the span that have no movement in Stripe's list of the span.

    The movement may be older, so it is queried separately.
    """
    postings = Posting.objects.filter(kind__in=_KINDS, created_at__gte=since, created_at__lt=until)
    for posting in postings.order_by("pk").iterator(chunk_size=_BATCH):
        if posting.idempotency_key in seen:
            continue
        if _never_sent(posting):
            continue
        amount = _posted([posting.idempotency_key]).get(posting.idempotency_key, 0)
        source = _source(posting)
        if not any(line.amount_micros == amount for line in (client.balance_of(source) if source else [])):
            yield f"the ledger has {posting.idempotency_key} of {format_money(amount)}; Stripe has nothing"


def _never_sent(posting: Posting) -> bool:
    """Return whether Stripe refused the posting's refund at once.

    Nothing moved there, and the refund is reversed here.
    """
    refunds = Refund.objects.filter(pk=posting.source_id, state=RefundState.FAILED, stripe_id=None)
    return posting.source_kind == REFUND_SOURCE and refunds.exists()


def _source(posting: Posting) -> str:
    """Return Stripe's id of the posting's payment, refund or dispute."""
    found: str | None = None
    if posting.source_kind == TOP_UP_SOURCE:
        found = Payment.objects.filter(pk=posting.source_id).values_list("charge_id", flat=True).first()
    elif posting.source_kind == REFUND_SOURCE:
        found = Refund.objects.filter(pk=posting.source_id).values_list("stripe_id", flat=True).first()
    elif posting.source_kind == DISPUTE_SOURCE:
        found = Dispute.objects.filter(pk=posting.source_id).values_list("stripe_id", flat=True).first()
    return found or ""


def _batches(lines: Iterator[BalanceLine]) -> Iterator[list[BalanceLine]]:
    while batch := list(islice(lines, _BATCH)):
        yield batch
