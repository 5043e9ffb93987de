"""Card payments into a renter's wallet: started at Stripe, credited when Stripe reports them paid.

Whatever event is about a payment, the whole payment is fetched again and applied: the order of events does not
matter, a repeated one changes nothing, and outdated data only lacks what newer data has added already.
"""

from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from django.conf import settings
from django.db.models import Q
from django.urls import reverse

from accounts.errors import TooMany
from accounts.models import User
from billing.constants import CHECKOUT_LASTS, CHECKOUTS_AT_MOST, TOP_UP_SOURCE
from billing.coupons.bonuses import adjust_to_kept, apply_to_top_up
from billing.coupons.selectors import kept_micros
from billing.errors import PaymentsOff
from billing.ledger.grants import CashWallets, lock_cash_wallets, movements_in
from billing.ledger.order_log import record_order
from billing.ledger.postings import post
from billing.models import Entry, Order, Payment, Posting
from billing.payments.cards import customer_of, lock_profile, record_auto_failure, store_card, with_customer
from billing.payments.disputes import apply_disputes
from billing.payments.refunds import apply_refunds
from billing.people.account_links import record_card
from billing.states import PAYMENT_MACHINE, DisputeState, PaymentState, RefundState
from billing.stripe import client
from billing.stripe.client import Buyer, ReturnUrls
from billing.stripe.currencies import to_minor, top_up_limits
from billing.stripe.objects import CheckoutSession, Intent, RemoteDispute, RemoteRefund
from common import change_counters, clock
from common.db.transactions import use_case
from common.errors import FieldError, InvalidInput
from common.ids import new_uuid, public_id
from common.jobs import enqueue
from common.money import format_money
from common.transitions import move

STRIPE_ACTOR = "stripe"
LABEL = "Wallet top-up"
MEMO = "Top-up by card"


@dataclass(frozen=True)
class Remote:
    """Payment in its present state at Stripe."""

    intent: Intent
    refunds: list[RemoteRefund]
    disputes: list[RemoteDispute]


def check_amount(amount_micros: int) -> None:
    """Refuse an amount that a single top-up may not have.

    Raises:
        InvalidInput: the amount is outside the limits.
        PaymentsOff: card payments are not configured.
    """
    if not client.is_configured():
        raise PaymentsOff("Card payments aren't set up here.")
    limits = top_up_limits(settings.MARKET_CURRENCY)
    if not limits.least_micros <= amount_micros <= limits.most_micros:
        detail = f"Choose from {format_money(limits.least_micros)} to {format_money(limits.most_micros)}."
        raise InvalidInput(detail, errors=[FieldError("amount", "out_of_range", detail)])
    to_minor(amount_micros, settings.MARKET_CURRENCY)


def start_top_up(*, owner: User, amount_micros: int, save_card: bool = False, key: str | None = None) -> Payment:
    """Create a payment with its page at Stripe; nothing is charged or credited here.

    Repeating the same `key` returns the same payment, also when the first attempt never got Stripe's answer.
    """
    check_amount(amount_micros)
    payment_id = uuid5(NAMESPACE_URL, f"topup:{owner.pk.hex}:{key}") if key else new_uuid()
    customer_of(owner=owner)  # before the payment is stored, so that no payment exists without a customer
    payment = _create_payment(payment_id, owner, amount_micros)
    if payment.checkout_url or payment.state != PaymentState.PENDING:
        return payment
    page = f"{settings.SITE_URL}{reverse('top_up_payment', args=[public_id('topup', payment.pk)])}"

    def create_session(customer_id: str) -> CheckoutSession:
        return client.open_checkout(
            payment_id=payment.pk,
            buyer=Buyer(owner.pk, customer_id),
            amount_micros=payment.amount_micros,
            label=LABEL,
            returns=ReturnUrls(done=page, left=f"{page}?left=1"),
            save_card=save_card,
        )

    session = with_customer(owner=owner, call=create_session)
    with use_case():
        Payment.objects.filter(pk=payment.pk).update(session_id=session.id, checkout_url=session.url)
    payment.refresh_from_db()
    return payment


def draft_top_up(*, owner: User, amount_micros: int) -> Payment:
    """Return the payment that `start_top_up` would create, checked but not saved.

    No request to Stripe is made.
    """
    check_amount(amount_micros)
    return Payment(owner=owner, amount_micros=amount_micros, created_at=clock.now())


def enqueue_payment_check(*, payment: Payment) -> None:
    """Enqueue a check of a payment whose renter is back from Stripe's page, ahead of the webhook.

    Only a hint: losing it loses no payment.
    """
    if payment.state == PaymentState.PENDING and payment.session_id:
        enqueue("billing.look_at_payment", payment.pk.hex)


def check_payment(*, payment_id: UUID) -> str:
    payment = Payment.objects.get(pk=payment_id)
    if payment.intent_id:
        return sync_intent(intent_id=payment.intent_id)
    return sync_session(session_id=payment.session_id) if payment.session_id else ""


def sync_session(*, session_id: str) -> str:
    """Apply the present state of a Stripe page (Checkout session) and return what was found."""
    session = client.fetch_session(session_id)
    if session.mode == "setup":
        return _apply_setup(session)
    outcome = sync_intent(intent_id=session.intent_id) if session.intent_id else session.status
    if session.status == "expired" and session.payment_id:
        with use_case():
            payment = _locked(pk=session.payment_id)
            if payment is not None and payment.state == PaymentState.PENDING:
                _move(payment, PaymentState.EXPIRED, "the page of payment expired")
    return outcome


def sync_intent(*, intent_id: str, thorough: bool = False) -> str:
    """Fetch a payment from Stripe, apply it in one transaction, and return what was found.

    With `thorough`, refunds and disputes are requested even when nothing indicates any: one may have come and
    gone.
    """
    remote = _fetch(intent_id, thorough)
    if _is_up_to_date(remote):
        return "known"
    owner_id = _owner_of(remote.intent)
    if owner_id is None:
        return "not a payment of this market"
    with use_case():
        return _apply(remote, lock_cash_wallets(owner_id=owner_id))  # wallets are locked first


def expire_unopened(*, payment_id: UUID) -> None:
    """Expire a payment whose page was never created, so that nobody can pay it.

    Should it turn out to be paid all the same, it counts.
    """
    with use_case():
        payment = _locked(pk=payment_id)
        if payment is not None and payment.state == PaymentState.PENDING:
            _move(payment, PaymentState.EXPIRED, "its page of payment was never made")


def check_pending_payments() -> int:
    """Check payments that have been pending for long, and return how many.

    Their page may have expired without a message.
    """
    if not client.is_configured():
        return 0
    now = clock.now()
    pending = Payment.objects.filter(state=PaymentState.PENDING, origin=Payment.Origin.CHECKOUT)
    for payment in pending.filter(created_at__lte=now - CHECKOUT_LASTS, session_id=None):
        expire_unopened(payment_id=payment.pk)
    old = pending.exclude(session_id=None).filter(created_at__lte=now - CHECKOUT_LASTS).order_by("created_at")[:500]
    for payment in old:
        check_payment(payment_id=payment.pk)
    return len(old)


def _create_payment(payment_id: UUID, owner: User, amount_micros: int) -> Payment:
    with use_case():
        # Serializes starts of top-ups, so that two at once cannot both open the last page of the limit. The
        # wallet is not locked for this: with an Idempotency-Key, the call to Stripe is inside the same
        # transaction, and settlement must not wait for that.
        lock_profile(owner.pk)
        existing = Payment.objects.filter(pk=payment_id, owner=owner).first()
        if existing is not None:
            if existing.amount_micros != amount_micros:
                raise InvalidInput("This key belongs to a top-up with a different amount; use a new one.")
            return existing
        lately = clock.now() - CHECKOUT_LASTS
        if (
            Payment.objects.filter(owner=owner, state=PaymentState.PENDING, created_at__gt=lately).count()
            >= CHECKOUTS_AT_MOST
        ):
            raise TooMany(f"You can have at most {CHECKOUTS_AT_MOST} unpaid top-ups; pay one of them, or wait a day.")
        return Payment.objects.create(pk=payment_id, owner=owner, amount_micros=amount_micros, created_at=clock.now())


def _fetch(intent_id: str, thorough: bool) -> Remote:
    """Fetch a payment, with refunds and disputes where Stripe or we know of unsettled ones."""
    intent = client.fetch_intent(intent_id)
    if not intent.is_paid:
        return Remote(intent, [], [])
    own = Payment.objects.filter(intent_id=intent_id).first()
    refunded = 0 if own is None else own.refunded_micros
    waiting = own is not None and own.refunds.filter(state=RefundState.PENDING).exists()
    disputed = intent.disputed or (own is not None and own.disputes.filter(state=DisputeState.OPEN).exists())
    return Remote(
        intent,
        client.refunds_of(intent_id) if thorough or waiting or refunded != intent.refunded_micros else [],
        client.disputes_of(intent_id) if thorough or disputed else [],
    )


def _is_up_to_date(remote: Remote) -> bool:
    """Return whether there is nothing to apply.

    Most messages repeat what an earlier one has said; they need no lock.
    """
    if remote.refunds or remote.disputes or not remote.intent.is_paid:
        return False
    return Payment.objects.filter(intent_id=remote.intent.id, state=PaymentState.SUCCEEDED).exists()


def _owner_of(intent: Intent) -> UUID | None:
    """Return the owner from our own row, else from our metadata at Stripe.

    A row may have been lost with a restored backup.
    """
    known = Q(intent_id=intent.id) if intent.payment_id is None else Q(intent_id=intent.id) | Q(pk=intent.payment_id)
    owner_id = Payment.objects.filter(known).values_list("owner_id", flat=True).first()
    if owner_id is None and intent.payment_id is not None and intent.owner_id is not None:
        owner_id = User.objects.filter(pk=intent.owner_id).values_list("pk", flat=True).first()
    return owner_id


def _apply(remote: Remote, purse: CashWallets) -> str:
    intent = remote.intent
    if intent.currency != settings.MARKET_CURRENCY.upper():
        return f"in {intent.currency}, not in {settings.MARKET_CURRENCY}: not credited"
    payment = _payment_of(intent)
    if not intent.is_paid:
        return intent.status if payment is None else _record_unpaid(payment, intent)
    payment = payment or _found_at_stripe(intent, purse.owner_id)
    if payment.state != PaymentState.SUCCEEDED:
        _credit(payment, intent, purse)
    apply_refunds(payment=payment, remotes=remote.refunds)
    apply_disputes(payment=payment, remotes=remote.disputes)
    adjust_to_kept(payment_id=payment.pk, kept_micros=kept_micros(payment))
    return "paid"


def _payment_of(intent: Intent) -> Payment | None:
    """Return our row, locked, or None when another charge has paid it already."""
    payment = _locked(intent_id=intent.id) or (_locked(pk=intent.payment_id) if intent.payment_id else None)
    if payment is not None and payment.state == PaymentState.SUCCEEDED and payment.intent_id != intent.id:
        return None
    return payment


def _found_at_stripe(intent: Intent, owner_id: UUID) -> Payment:
    """Create a row for a paid charge that bears our metadata and has none.

    It was lost with a restored backup, or is a second charge for one payment.
    """
    taken = intent.payment_id is None or Payment.objects.filter(pk=intent.payment_id).exists()
    return Payment.objects.create(
        pk=uuid5(NAMESPACE_URL, f"stripe:{intent.id}") if taken else intent.payment_id,
        owner_id=owner_id,
        origin=Payment.Origin.AUTO if intent.origin == Payment.Origin.AUTO else Payment.Origin.CHECKOUT,
        amount_micros=intent.received_micros,
        intent_id=intent.id,
        created_at=intent.created_at,
    )


def _credit(payment: Payment, intent: Intent, purse: CashWallets) -> None:
    now = clock.now()
    post(
        key=f"topup:{payment.pk.hex}",
        kind=Posting.Kind.TOP_UP,
        source_kind=TOP_UP_SOURCE,
        source_id=payment.pk,
        memo=MEMO,
        actor=STRIPE_ACTOR,
        movements=movements_in(purse, intent.received_micros, Entry.Kind.TOP_UP),
        at=now,
    )
    paid: dict[str, Any] = {
        "intent_id": intent.id,
        "charge_id": intent.charge_id or None,
        "amount_micros": intent.received_micros,
    }
    if intent.card is not None:
        record_card(owner_id=payment.owner_id, fingerprint=intent.card.fingerprint)
    _move(payment, PaymentState.SUCCEEDED, "Stripe says it is paid", **paid, paid_at=now, failure="", checkout_url="")
    record_order(
        owner_id=payment.owner_id,
        kind=Order.Kind.TOP_UP,
        key=f"topup:{payment.pk.hex}",
        source_kind=TOP_UP_SOURCE,
        source_id=payment.pk,
        title=MEMO,
        amount_micros=intent.received_micros,
    )
    apply_to_top_up(owner_id=payment.owner_id, payment_id=payment.pk, amount_micros=intent.received_micros)
    if payment.origin == Payment.Origin.AUTO:
        record_auto_failure(owner_id=payment.owner_id, failure="")  # it had no answer, and was given up too early
    if intent.keeps_card and intent.card is not None:
        store_card(owner_id=payment.owner_id, customer_id=intent.customer_id, card=intent.card)


def _record_unpaid(payment: Payment, intent: Intent) -> str:
    """Record an unsuccessful attempt.

    A card refused on Stripe's page can be replaced there; a saved card that is refused ends its payment.
    """
    over = intent.status in ("canceled", "requires_payment_method", "requires_action")
    if payment.state == PaymentState.PENDING and payment.origin == Payment.Origin.AUTO and over:
        failure = (intent.failure or "The card needs its holder's confirmation.")[:200]
        _move(payment, PaymentState.FAILED, failure, intent_id=intent.id, failure=failure)
        record_auto_failure(owner_id=payment.owner_id, failure=failure)
    elif payment.state == PaymentState.PENDING:
        Payment.objects.filter(pk=payment.pk).update(intent_id=intent.id, failure=intent.failure[:200])
    return intent.status


def _apply_setup(session: CheckoutSession) -> str:
    if session.owner_id is None or session.card is None:
        return "no card was saved"
    with use_case():
        store_card(owner_id=session.owner_id, customer_id=session.customer_id, card=session.card)
    return "card saved"


def _locked(**where: object) -> Payment | None:
    rows = Payment.objects.select_for_update(of=("self",), no_key=True).filter(**where)
    return rows.order_by("pk").first()


def _move(payment: Payment, target: PaymentState, reason: str, **fields: Any) -> None:
    move(payment, target, machine=PAYMENT_MACHINE, reason=reason, actor=STRIPE_ACTOR, **fields)
    change_counters.notify_change(f"user:{payment.owner_id.hex}")
