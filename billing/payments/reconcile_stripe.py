"""Compares the ledger with Stripe daily and on demand, and repairs what no webhook delivery reported."""

import logging
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import TypeVar
from uuid import UUID

from billing.constants import DAILY, EVENTS_LOOKED_BACK, RECONCILED_AGAIN
from billing.errors import StripeRefused, StripeUnreachable
from billing.ledger.freezes import frozen_since, lift_freeze
from billing.models import Dispute, Payment, Payout, Reconciliation, Refund, StripeEvent
from billing.payments.balance_reconciliation import compare_balance
from billing.payments.payments import check_payment, sync_intent
from billing.payments.selectors import last_reconciled_until
from billing.payments.stripe_events import apply_events, store_event
from billing.states import DisputeState, PaymentState, RefundState
from billing.stripe import client
from billing.stripe.transfers import transfers_since
from common import clock
from common.db.transactions import exclusive_lock, use_case
from common.jobs import enqueue
from common.money import format_money

logger = logging.getLogger(__name__)

_FINDINGS_KEPT = 200
_NIGHTLY = "nightly"
_LOCK = 8_140_265_331
_BATCH = 500
T = TypeVar("T")


def request_reconciliation(*, actor: str) -> Reconciliation:
    """Request a comparison; a worker runs it."""
    with use_case():
        wanted = Reconciliation.objects.create(requested_by=actor, created_at=clock.now())
        enqueue("billing.run_reconciliation", wanted.pk.hex)
    return wanted


def reconcile_daily(*, now: datetime) -> None:
    """Run requested comparisons that are still missing, and one a day of its own.

    Run as a sweep, in one process at a time.
    """
    if not client.is_configured():
        return
    with exclusive_lock(_LOCK) as ours:
        if ours:
            _reconcile_due(now)


def _reconcile_due(now: datetime) -> None:
    wanted = list(Reconciliation.objects.filter(finished_at=None).order_by("created_at").values_list("pk", flat=True))
    for reconciliation_id in wanted:
        run_reconciliation(reconciliation_id=reconciliation_id)
    if not wanted and not Reconciliation.objects.filter(requested_by=_NIGHTLY, created_at__gt=now - DAILY).exists():
        with use_case():
            row = Reconciliation.objects.create(requested_by=_NIGHTLY, created_at=now)
        run_reconciliation(reconciliation_id=row.pk)


def run_reconciliation(*, reconciliation_id: UUID) -> Reconciliation:
    """Compare from shortly before the end of the last successful comparison until now.

    A failure leaves that end where it was. During a freeze, all comparisons begin where the first one did: a
    difference that one has found is not settled because the next one does not cover it.
    """
    row = Reconciliation.objects.get(pk=reconciliation_id)
    if row.finished_at is not None:
        return row
    row.until = clock.now()
    row.since = (last_reconciled_until(frozen_since()) or row.until - EVENTS_LOOKED_BACK) - RECONCILED_AGAIN
    try:
        _compare(row, row.since, row.until)
    except (StripeUnreachable, StripeRefused) as error:
        row.failure = error.detail[:200]
    row.findings = row.findings[:_FINDINGS_KEPT]
    row.finished_at = clock.now()
    if row.findings or row.failure:
        logger.error("Stripe and the ledger: %s %s", row.failure, row.findings[:10])
    with use_case():
        row.save()
    if not row.findings and not row.failure:
        lift_freeze(by=f"comparison {row.pk.hex}", begun_before=row.until)
    return row


def _compare(row: Reconciliation, since: datetime, until: datetime) -> None:
    for heads in _batches(client.events_since(since)):
        row.seen += len(heads)
        known = set(StripeEvent.objects.filter(pk__in=[head.id for head in heads]).values_list("pk", flat=True))
        row.healed += sum(store_event(head=head, deliveries=0) for head in heads if head.id not in known)
    while apply_events(now=clock.now()):
        pass
    foreign: set[str] = set()
    for intent_id in _stale(row, since, foreign):
        row.healed += 1
        sync_intent(intent_id=intent_id, thorough=True)
    for payment_id in _undecided():
        check_payment(payment_id=payment_id)
    row.findings = [*compare_balance(since=since, until=until, foreign=foreign), *_unknown_transfers(since)]


def _stale(row: Reconciliation, since: datetime, foreign: set[str]) -> Iterator[str]:
    """Yield payments about which Stripe's lists know more than our rows.

    `foreign` collects charges that do not belong to this market.
    """
    for intents in _batches(client.intents_since(since)):
        row.seen += len(intents)
        foreign.update(intent.charge_id for intent in intents if intent.payment_id is None)
        paid = [intent.id for intent in intents if intent.is_paid and intent.payment_id is not None]
        credited = Payment.objects.filter(intent_id__in=paid, state=PaymentState.SUCCEEDED)
        yield from sorted(set(paid) - set(credited.values_list("intent_id", flat=True)))
    for refund in client.refunds_since(since):
        row.seen += 1
        known = Refund.objects.filter(stripe_id=refund.id).values_list("state", flat=True).first()
        if refund.intent_id and known != _refund_state(refund.status):
            yield refund.intent_id
    for dispute in client.disputes_since(since):
        row.seen += 1
        state = Dispute.objects.filter(stripe_id=dispute.id).values_list("state", flat=True).first()
        wanted = dispute.status if dispute.status in (DisputeState.WON, DisputeState.LOST) else DisputeState.OPEN
        if dispute.intent_id and dispute.takes_money and state != wanted:
            yield dispute.intent_id


def _unknown_transfers(since: datetime) -> Iterator[str]:
    """Yield payouts that were sent to a host owner and are missing in the ledger.

    They were made after the backup that was restored.
    """
    for transfers in _batches(transfers_since(since)):
        known = Payout.objects.filter(pk__in=[payout_id for payout_id, _ in transfers if payout_id is not None])
        ours = set(known.values_list("pk", flat=True))
        for payout_id, transfer in transfers:
            if payout_id is not None and payout_id not in ours and not transfer.reversed:
                amount = format_money(transfer.amount_micros)
                yield f"Stripe has transfer {transfer.id} of {amount} for payout {payout_id.hex}; the ledger has nothing"


def _batches(rows: Iterator[T]) -> Iterator[list[T]]:
    while batch := list(islice(rows, _BATCH)):
        yield batch


def _refund_state(status: str) -> str:
    if status in ("failed", "canceled"):
        return RefundState.FAILED
    return RefundState.SUCCEEDED if status == "succeeded" else RefundState.PENDING


def _undecided() -> set[UUID]:
    """Return payments with a refund or dispute that Stripe may have decided after its events expired."""
    refunded = Refund.objects.filter(state=RefundState.PENDING).exclude(stripe_id=None)
    disputed = Dispute.objects.filter(state=DisputeState.OPEN)
    return {*refunded.values_list("payment_id", flat=True), *disputed.values_list("payment_id", flat=True)}
