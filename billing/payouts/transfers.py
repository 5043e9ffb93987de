"""Sends payouts to Stripe; after a crash or a missing answer, the next pass finds out what happened."""

import logging
from datetime import datetime
from uuid import UUID

from billing.constants import PAYOUT_BATCH, PAYOUT_RETRY_AFTER
from billing.errors import PaymentsOff, StripeRefused, StripeUnreachable
from billing.ledger.freezes import money_is_frozen, was_frozen_after
from billing.models import Payout, PayoutMethod
from billing.payouts.payouts import mark_failed, mark_paid, mark_sent
from billing.states import PayoutState
from billing.stripe.transfers import Transfer, fetch_transfer, find_transfer, send_transfer
from common import clock
from common.errors import DomainError

logger = logging.getLogger(__name__)

_ACTOR = "stripe"
_REVERSED = "Stripe has reversed the transfer."


def send_payouts(*, now: datetime) -> int:
    """Send pending payouts, ask again about unanswered ones, and return how many were handled."""
    open_ones = Payout.objects.filter(method=PayoutMethod.STRIPE).order_by("created_at", "pk")
    pending = open_ones.filter(state=PayoutState.PENDING)
    silent = open_ones.filter(state=PayoutState.SENT, sent_at__lte=now - PAYOUT_RETRY_AFTER)
    keys = [*pending.values_list("pk", flat=True)[:PAYOUT_BATCH], *silent.values_list("pk", flat=True)[:PAYOUT_BATCH]]
    for key in keys:
        _send_apart(key)
    return len(keys)


def send_payout(*, payout_id: UUID) -> None:
    """Continue one payout by Stripe from its present state.

    Its three steps are three transactions, and the call to Stripe is in none of them.
    """
    payout = Payout.objects.filter(pk=payout_id, method=PayoutMethod.STRIPE).first()
    if payout is None or money_is_frozen():
        return
    if payout.state == PayoutState.PENDING:
        first = not was_frozen_after(payout.created_at)  # a restored row may be of a payout that was sent after the backup
        ours = mark_sent(payout_id=payout_id, actor=_ACTOR)
    else:
        first, ours = False, _claim_retry(payout_id)
    if not ours:
        return
    try:
        transfer = _transfer(payout, first=first)
    except StripeRefused as error:
        mark_failed(payout_id=payout_id, actor=_ACTOR, failure=error.detail, from_states=(PayoutState.SENT,))
    except (StripeUnreachable, PaymentsOff) as error:
        logger.warning("payout %s: no answer (%s); it is asked about again", payout_id, error.code)
    else:
        _finish(payout_id, transfer)


def _send_apart(payout_id: UUID) -> None:
    """Send one payout; its failure must not affect the next ones."""
    try:
        send_payout(payout_id=payout_id)
    except DomainError:
        logger.exception("payout %s could not be sent", payout_id)


def check_transfer(*, payout_id: UUID) -> bool:
    """Ask Stripe about a paid payout; True when its transfer was reversed and the money is back."""
    payout = Payout.objects.filter(pk=payout_id, method=PayoutMethod.STRIPE, state=PayoutState.PAID).first()
    transfer = None if payout is None else find_transfer(payout_id=payout_id)
    if transfer is None or not transfer.reversed:
        return False
    return mark_failed(payout_id=payout_id, actor=_ACTOR, failure=_REVERSED, from_states=(PayoutState.PAID,))


def sync_transfer(*, transfer_id: str) -> str:
    """Apply an event about a transfer: the money of a reversed transfer returns once."""
    payout_id, transfer = fetch_transfer(transfer_id)
    if payout_id is None or not Payout.objects.filter(pk=payout_id).exists():
        return "not a transfer of this market"
    if not transfer.reversed:
        return "stands"
    if not Payout.objects.filter(pk=payout_id, state=PayoutState.PAID).exists():
        return "reversed; the payout does not count as paid"  # whoever asks about it next finds the same
    mark_failed(payout_id=payout_id, actor=_ACTOR, failure=_REVERSED, from_states=(PayoutState.PAID,))
    return "reversed: the money is back in the earnings"


def _finish(payout_id: UUID, transfer: Transfer) -> None:
    """Finish a payout by its transfer, which may have been reversed before it was found."""
    if transfer.reversed:
        mark_failed(payout_id=payout_id, actor=_ACTOR, failure=_REVERSED, from_states=(PayoutState.SENT,))
    else:
        mark_paid(payout_id=payout_id, actor=_ACTOR, reference=transfer.id)


def _transfer(payout: Payout, *, first: bool) -> Transfer:
    found = None if first else find_transfer(payout_id=payout.pk)
    if found is not None:
        return found
    account_id = str(payout.destination["stripe_account_id"])
    return send_transfer(payout_id=payout.pk, account_id=account_id, amount_micros=payout.amount_micros)


def _claim_retry(payout_id: UUID) -> bool:
    """Claim the retry of a payout for this worker by moving the time of its last try forward."""
    now = clock.now()
    silent = Payout.objects.filter(pk=payout_id, state=PayoutState.SENT, sent_at__lte=now - PAYOUT_RETRY_AFTER)
    return silent.update(sent_at=now) == 1
