"""Automatic top-ups: charges a saved card when a wallet runs low, at most once an hour."""

import logging
from datetime import datetime
from uuid import UUID

from accounts.mail.outbox import queue_mail
from accounts.notification_channels.outbox import notify
from billing.constants import AUTO_TOP_UP_EVERY, UNANSWERED_RETRIED
from billing.errors import CardRefused, StripeRefused, StripeUnreachable
from billing.ledger.freezes import money_is_frozen
from billing.ledger.postings import lock_wallets
from billing.ledger.wallets import open_wallet
from billing.models import Payment, PaymentProfile
from billing.payments.cards import clear_customer, record_auto_failure
from billing.payments.messages import auto_failure_mail
from billing.payments.payments import sync_intent
from billing.payments.selectors import auto_topped_up_micros, wallets_to_fill
from billing.states import PAYMENT_MACHINE, PaymentState
from billing.stripe import client
from billing.stripe.client import Buyer
from common import change_counters
from common.db.transactions import use_case
from common.transitions import move

logger = logging.getLogger(__name__)

CONFIRMATION_NEEDED = "The bank wants the card's holder to confirm this payment."
_UNCONFIRMED = frozenset({"requires_action", "requires_confirmation"})


def top_up_low_wallets(*, now: datetime) -> int:
    """Charge the cards of wallets that run low, and retry unanswered charges; return how many succeeded."""
    if not client.is_configured() or money_is_frozen():
        return 0
    begun = [payment for payment in (_create_payment(owner, now) for owner in _low(now)) if payment is not None]
    unanswered = Payment.objects.filter(origin=Payment.Origin.AUTO, state=PaymentState.PENDING, intent_id=None)
    waiting = [payment for payment in unanswered.order_by("created_at")[:200] if payment not in begun]
    try:
        return sum(_charge(payment, now) for payment in [*begun, *waiting])
    except StripeUnreachable:
        logger.warning("automatic top-ups wait: Stripe does not answer")
        return 0


def mail_auto_failures(*, now: datetime) -> int:
    """Mail everyone whose card was refused and who was not mailed yet; return how many mails were queued."""
    untold = PaymentProfile.objects.filter(auto_told_at=None).exclude(auto_failure="").select_related("owner")
    return sum(_queue_mail(profile, now) for profile in untold[:200])


def _low(now: datetime) -> list[UUID]:
    return wallets_to_fill(now, now - AUTO_TOP_UP_EVERY)


def _create_payment(owner_id: UUID, now: datetime) -> Payment | None:
    """Store the payment before the request to Stripe, so that a lost answer is found again by its key."""
    with use_case():
        lock_wallets([open_wallet(owner_id=owner_id).pk])
        profile = PaymentProfile.objects.select_for_update(of=("self",), no_key=True).order_by("pk").get(pk=owner_id)
        if owner_id not in _low(now):
            return None  # another worker was faster, or money has arrived
        month_from = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        charged = auto_topped_up_micros(owner_id, month_from)
        if charged + profile.auto_amount_micros > profile.auto_monthly_cap_micros:
            return None
        PaymentProfile.objects.filter(pk=owner_id).update(auto_tried_at=now)
        return Payment.objects.create(
            owner_id=owner_id, origin=Payment.Origin.AUTO, amount_micros=profile.auto_amount_micros, created_at=now
        )


def _charge(payment: Payment, now: datetime) -> bool:
    profile = PaymentProfile.objects.get(pk=payment.owner_id)
    if now - payment.created_at > UNANSWERED_RETRIED or not (profile.card_id and profile.customer_id):
        _fail(payment, "The card could not be charged.", "")
        return False
    buyer = Buyer(payment.owner_id, profile.customer_id)
    try:
        intent = client.charge_card(
            payment_id=payment.pk, buyer=buyer, amount_micros=payment.amount_micros, card_id=profile.card_id
        )
    except CardRefused as error:
        needs_holder = error.extra.get("reason") == "authentication_required"
        _fail(payment, CONFIRMATION_NEEDED if needs_holder else error.detail, str(error.extra.get("intent_id") or ""))
        return False
    except StripeRefused as error:
        if client.is_missing_customer(error):  # its card is gone with it; saving a card creates a new customer
            with use_case():
                clear_customer(owner_id=payment.owner_id, customer_id=profile.customer_id)
        _fail(payment, error.detail, "")
        return False
    if intent.status in _UNCONFIRMED:
        _fail(payment, CONFIRMATION_NEEDED, intent.id)
        _cancel(intent.id)
        return False
    sync_intent(intent_id=intent.id)
    return True


def _cancel(intent_id: str) -> None:
    """Cancel a payment that needs its holder's confirmation, since nobody is present to give it.

    Were it confirmed all the same, it would count.
    """
    try:
        client.cancel_intent(intent_id)
    except (StripeRefused, StripeUnreachable):
        logger.warning("payment intent %s was not cancelled", intent_id)


def _fail(payment: Payment, failure: str, intent_id: str) -> None:
    with use_case():
        lock_wallets([open_wallet(owner_id=payment.owner_id).pk])
        row = Payment.objects.select_for_update(of=("self",), no_key=True).order_by("pk").get(pk=payment.pk)
        if row.state != PaymentState.PENDING:
            return
        move(
            row,
            PaymentState.FAILED,
            machine=PAYMENT_MACHINE,
            reason=failure,
            actor="stripe",
            failure=failure[:200],
            intent_id=intent_id or row.intent_id,
        )
        record_auto_failure(owner_id=payment.owner_id, failure=failure)
        change_counters.notify_change(f"user:{payment.owner_id.hex}")


def _queue_mail(profile: PaymentProfile, now: datetime) -> bool:
    mail = auto_failure_mail(profile)
    with use_case():
        same = PaymentProfile.objects.filter(pk=profile.pk, auto_told_at=None, auto_failure=profile.auto_failure)
        if not same.update(auto_told_at=now):
            return False  # another worker or the owner was faster
        queue_mail(to=profile.owner.email, subject=mail.subject, body=mail.body)
        notify(user_id=profile.owner_id, kind="billing.auto_top_up_failed", subject=mail.subject, body=mail.body)
    return True
