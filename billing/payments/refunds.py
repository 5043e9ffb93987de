"""Refunds of unspent cash to the card that paid, at most the payment, each sent to Stripe once.

The money leaves the wallet when the refund is decided and returns to it when Stripe fails it. A sweep sends refunds
with their id as Stripe's key, so a lost answer causes no second refund.
"""

import logging
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import F

from billing.constants import REFUND_SOURCE, RENTER_REFUND_WITHIN
from billing.coupons.bonuses import adjust_to_kept
from billing.coupons.selectors import kept_micros
from billing.errors import RefundRefused, StripeRefused, StripeUnreachable
from billing.ledger.freezes import money_is_frozen
from billing.ledger.grants import lock_cash_wallets, movements_in, movements_out
from billing.ledger.postings import Movement, post
from billing.models import Entry, Payment, Posting, Refund
from billing.payments.selectors import refund_quote, refundable_micros
from billing.states import REFUND_MACHINE, PaymentState, RefundState
from billing.stripe import client
from billing.stripe.currencies import to_minor
from billing.stripe.objects import RemoteRefund
from common import change_counters, clock
from common.db.transactions import use_case
from common.errors import FieldError, InvalidInput, NotFound
from common.jobs import enqueue
from common.money import format_money
from common.transitions import move

logger = logging.getLogger(__name__)

_AT_STRIPE = "stripe"
_RESENT_AFTER = timedelta(seconds=30)
_BATCH = 200


def refund_payment(
    *,
    payment_id: UUID,
    amount_micros: int,
    reason: str,
    actor: str,
    refund_id: UUID,
    most_bonus_micros: int | None = None,
) -> Refund:
    """Take the amount from the wallet and have it sent to the card.

    Repeating a `refund_id` changes nothing. It also takes cash for the used part of the bonus that the rest of the
    payment no longer covers. With `most_bonus_micros`, nothing is done when that would take more cash.

    Raises:
        InvalidInput: the amount is not positive, or not a whole number of the currency's units.
        NotFound: there is no such payment.
        RefundRefused: it is more than can be refunded; the error says how much can be.
    """
    if amount_micros <= 0:
        raise InvalidInput("A refund must be more than zero.", errors=[FieldError("amount", "too_small", "More than zero.")])
    to_minor(amount_micros, settings.MARKET_CURRENCY)
    owner_id = Payment.objects.filter(pk=payment_id).values_list("owner_id", flat=True).first()
    if owner_id is None:
        raise NotFound("This payment doesn't exist.")
    with use_case():
        purse = lock_cash_wallets(owner_id=owner_id)
        payment = _locked(payment_id)
        done = Refund.objects.filter(pk=refund_id, payment=payment).first()
        if done is not None:
            return done
        _check(payment, amount_micros, most_bonus_micros)
        refund = Refund(
            pk=refund_id,
            payment=payment,
            amount_micros=amount_micros,
            reason=reason[:200],
            actor=actor,
            created_at=clock.now(),
        )
        _save_and_post(refund, movements_out(purse, amount_micros, Entry.Kind.CARD_REFUND))
        adjust_to_kept(payment_id=payment.pk, kept_micros=kept_micros(payment))
        enqueue("billing.send_refund", refund.pk.hex)
    return refund


def refund_own(*, payment: Payment, amount_micros: int, refund_id: UUID, most_bonus_micros: int = 0) -> Refund:
    """Refund unspent cash of the renter's own payment, within `RENTER_REFUND_WITHIN` of it.

    `most_bonus_micros` is what the renter was told to pay for the used bonus.
    """
    if payment.paid_at is None or clock.now() - payment.paid_at > RENTER_REFUND_WITHIN:
        raise RefundRefused(f"Refunds are possible within {RENTER_REFUND_WITHIN.days} days of the payment; contact support.")
    return refund_payment(
        payment_id=payment.pk,
        amount_micros=amount_micros,
        reason="asked for by the renter",
        actor=f"user:{payment.owner_id.hex}",
        refund_id=refund_id,
        most_bonus_micros=most_bonus_micros,
    )


def send_refunds(*, now: datetime) -> int:
    """Send decided refunds that have not reached Stripe and return how many did."""
    if not client.is_configured():
        return 0
    waiting = Refund.objects.filter(state=RefundState.PENDING, stripe_id=None, created_at__lte=now - _RESENT_AFTER)
    sent = 0
    try:
        for refund_id in waiting.order_by("created_at").values_list("pk", flat=True)[:_BATCH]:
            sent += send_refund(refund_id=refund_id)
    except StripeUnreachable:
        logger.warning("refunds wait: Stripe does not answer")
    return sent


def send_refund(*, refund_id: UUID) -> bool:
    """Send a refund unless Stripe has it already.

    Its answer may have been lost, and Stripe forgets an idempotency key after a day.
    """
    refund = Refund.objects.select_related("payment").get(pk=refund_id)
    intent_id = refund.payment.intent_id
    if refund.state != RefundState.PENDING or refund.stripe_id or not intent_id or money_is_frozen():
        return False
    try:
        known = [remote for remote in client.refunds_of(intent_id) if remote.refund_id == refund_id]
        remote = known[0] if known else _request_refund(refund, intent_id)
    except StripeRefused as error:
        _apply_alone(refund, None, error.detail)
        return False
    _apply_alone(refund, remote, "")
    return True


def apply_refunds(*, payment: Payment, remotes: list[RemoteRefund]) -> None:
    """Apply Stripe's state of a payment's refunds, including those made on Stripe's own site.

    The caller has locked the wallets and the payment.
    """
    for remote in remotes:
        refund = _find_refund(payment, remote)
        _apply(refund or _record_refund_at_stripe(payment, remote), remote, "Stripe failed it")


def _request_refund(refund: Refund, intent_id: str) -> RemoteRefund:
    return client.send_refund(refund_id=refund.pk, intent_id=intent_id, amount_micros=refund.amount_micros)


def _apply_alone(refund: Refund, remote: RemoteRefund | None, failure: str) -> None:
    with use_case():
        lock_cash_wallets(owner_id=refund.payment.owner_id)
        payment = _locked(refund.payment_id)
        own = Refund.objects.select_for_update(of=("self",), no_key=True).get(pk=refund.pk)
        own.payment = payment
        if remote is not None:
            _apply(own, remote, "Stripe failed it")
        elif own.state == RefundState.PENDING:
            _return_to_wallet(own, failure)
        adjust_to_kept(payment_id=payment.pk, kept_micros=kept_micros(payment))


def _check(payment: Payment, amount_micros: int, most_bonus_micros: int | None) -> None:
    if payment.state != PaymentState.SUCCEEDED:
        raise RefundRefused("Only a successful payment can be refunded.")
    most = refundable_micros(payment)
    if amount_micros > most:
        text = format_money(most)
        raise RefundRefused(f"At most {text} of this payment is unspent and can be refunded to the card.", refundable=text)
    bonus = refund_quote(payment, amount_micros).bonus_micros
    if most_bonus_micros is not None and bonus > most_bonus_micros:
        text = format_money(bonus)
        raise RefundRefused(f"This refund now deducts {text} from the wallet for its used bonus; check again.", bonus=text)


def _find_refund(payment: Payment, remote: RemoteRefund) -> Refund | None:
    rows = Refund.objects.select_for_update(of=("self",), no_key=True).filter(payment=payment).order_by("pk")
    found = rows.filter(stripe_id=remote.id).first()
    if found is None and remote.refund_id is not None:
        found = rows.filter(pk=remote.refund_id).first()
    if found is not None:
        found.payment = payment
    return found


def _record_refund_at_stripe(payment: Payment, remote: RemoteRefund) -> Refund:
    """Record a refund made at Stripe.

    The card has its money already, so what the wallet cannot give is owed.
    """
    refund = Refund(
        payment=payment,
        amount_micros=remote.amount_micros,
        stripe_id=remote.id,
        reason="made at Stripe",
        actor=_AT_STRIPE,
        created_at=remote.created_at,
    )
    if remote.refund_id is not None:
        refund.pk = remote.refund_id  # our own refund, whose row was lost with a restored backup
    _save_and_post(
        refund, movements_out(lock_cash_wallets(owner_id=payment.owner_id), remote.amount_micros, Entry.Kind.CARD_REFUND)
    )
    return refund


def _save_and_post(refund: Refund, movements: list[Movement]) -> None:
    payment = refund.payment
    refund.save(force_insert=True)
    Payment.objects.filter(pk=payment.pk).update(refunded_micros=F("refunded_micros") + refund.amount_micros)
    payment.refunded_micros += refund.amount_micros
    _post(refund, f"refund:{refund.pk.hex}", "Refund to the card", movements)


def _apply(refund: Refund, remote: RemoteRefund, failure: str) -> None:
    if refund.stripe_id != remote.id:
        Refund.objects.filter(pk=refund.pk).update(stripe_id=remote.id)
        refund.stripe_id = remote.id
    if remote.has_failed and refund.state != RefundState.FAILED:
        _return_to_wallet(refund, failure)
    elif remote.status == "succeeded" and refund.state == RefundState.PENDING:
        _move(refund, RefundState.SUCCEEDED, "Stripe says it is done")


def _return_to_wallet(refund: Refund, why: str) -> None:
    """Return the money of a failed refund to the wallet."""
    payment = refund.payment
    Payment.objects.filter(pk=payment.pk).update(refunded_micros=F("refunded_micros") - refund.amount_micros)
    payment.refunded_micros -= refund.amount_micros
    purse = lock_cash_wallets(owner_id=payment.owner_id)
    movements = movements_in(purse, refund.amount_micros, Entry.Kind.CARD_REFUND)
    _post(refund, f"refund:{refund.pk.hex}:returned", "Refund did not reach the card", movements)
    _move(refund, RefundState.FAILED, why)


def _post(refund: Refund, key: str, memo: str, movements: list[Movement]) -> None:
    post(
        key=key,
        kind=Posting.Kind.REFUND,
        source_kind=REFUND_SOURCE,
        source_id=refund.pk,
        memo=memo,
        actor=refund.actor,
        movements=movements,
        at=clock.now(),
    )
    change_counters.notify_change(f"user:{refund.payment.owner_id.hex}")


def _move(refund: Refund, target: RefundState, reason: str) -> None:
    move(refund, target, machine=REFUND_MACHINE, reason=reason, actor=_AT_STRIPE, settled_at=clock.now())


def _locked(payment_id: UUID) -> Payment:
    return Payment.objects.select_for_update(of=("self",), no_key=True).order_by("pk").get(pk=payment_id)
