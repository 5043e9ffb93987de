"""Reads of card payments: a renter's own, refundable amounts, disputes, and what staff must act on."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import F, QuerySet, Sum

from billing.constants import FROZEN_SOURCE
from billing.coupons.selectors import bonus_for, kept_micros
from billing.ledger.promotional_selectors import cash_micros
from billing.metering.commitments import committed_micros
from billing.models import Dispute, Entry, Hold, Payment, PaymentProfile, Reconciliation, Wallet
from billing.states import DisputeState, PaymentState
from billing.stripe.currencies import round_down, step_micros
from common.errors import NotFound

# Non-cash money is spent first: grants, coupon money, credits, transfers and returned prepayments. In the order of
# the wallet's entries, that part never falls below zero: it is the running sum less the lowest value that the sum has
# had. Movements of cash (top-ups, refunds to the card, disputes, repayments of a used bonus) do not change that part.
# An outgoing transfer counts here as non-cash money. Money given by the market is never passed on, so refunds never
# exceed `cash_micros`.
_NOT_CASH = """
SELECT COALESCE((array_agg(total ORDER BY id DESC))[1], 0) - LEAST(0, COALESCE(min(total), 0))
FROM (SELECT id, sum(amount_micros) OVER (ORDER BY id) AS total FROM billing_entry
      WHERE wallet_id = %s AND kind <> ALL(%s)) AS walk
"""
_CASH = [kind.value for kind in (Entry.Kind.TOP_UP, Entry.Kind.CARD_REFUND, Entry.Kind.DISPUTE, Entry.Kind.BONUS)]


def payments_of(owner_id: UUID) -> QuerySet[Payment]:
    return Payment.objects.filter(owner_id=owner_id).prefetch_related(
        "refunds", "disputes", "coupons__code", "coupons__draws"
    )


def payment_of(owner_id: UUID, payment_id: UUID) -> Payment:
    """Return one of the owner's payments.

    Raises:
        NotFound: the owner has no such payment.
    """
    payment = payments_of(owner_id).filter(pk=payment_id).first()
    if payment is None:
        raise NotFound("This top-up doesn't exist.")
    return payment


def profile_of(owner_id: UUID) -> PaymentProfile:
    """Return the saved card and the rule of automatic top-up, or an empty profile."""
    return PaymentProfile.objects.filter(pk=owner_id).first() or PaymentProfile(owner_id=owner_id)


def owed_micros(owner_id: UUID) -> int:
    """Return what a renter owes after a dispute, refund or early end that the wallet could not pay."""
    balance = (
        Wallet.objects.filter(owner_id=owner_id, kind=Wallet.Kind.DEBT).values_list("balance_micros", flat=True).first()
    )
    return -(balance or 0)


def frozen_micros(owner_id: UUID) -> int:
    """Return the money in the wallet that somebody else owes.

    It came by a transfer, and is held until the debt is repaid.
    """
    held = Hold.objects.filter(source_kind=FROZEN_SOURCE, released_at=None, wallet__owner=owner_id)
    return held.aggregate(total=Sum("amount_micros"))["total"] or 0


def pending_micros(owner_id: UUID) -> int:
    """Return what is paid at Stripe, or being paid there, and not credited yet."""
    pending = Payment.objects.filter(owner_id=owner_id, state=PaymentState.PENDING, failure="").exclude(intent_id=None)
    return pending.aggregate(total=Sum("amount_micros"))["total"] or 0


def unspent_cash_micros(owner_id: UUID) -> int:
    """Return the wallet's cash that is neither held nor secures a term; 0 while the renter owes money."""
    wallet = Wallet.objects.filter(owner_id=owner_id, kind=Wallet.Kind.RENTER).first()
    if wallet is None or owed_micros(owner_id):
        return 0
    with connection.cursor() as cursor:
        cursor.execute(_NOT_CASH, [wallet.pk, _CASH])
        (not_cash,) = cursor.fetchone()
    free = wallet.spendable_micros - committed_micros(owner_id)
    return max(0, min(free, wallet.balance_micros - int(not_cash), cash_micros(wallet)))


@dataclass(frozen=True)
class RefundQuote:
    """Effect of a refund: amount to the card, payment for a used bonus, and lapsing rest of the bonus."""

    amount_micros: int
    bonus_micros: int = 0
    lapses_micros: int = 0


def refundable_micros(payment: Payment) -> int:
    """Return how much of a payment can go back to its card now.

    It is limited by the unspent cash, and by the payment less what was refunded or is disputed. The cash also
    pays for the used part of a bonus that the rest of the payment does not cover.
    """
    if payment.state != PaymentState.SUCCEEDED:
        return 0
    kept, cash = kept_micros(payment), unspent_cash_micros(payment.owner_id)
    bonus = bonus_for(payment)
    if bonus is None:
        return round_down(min(kept, cash), settings.MARKET_CURRENCY)
    return bonus.most_refundable(kept_micros=kept, cash_micros=cash, step_micros=step_micros(settings.MARKET_CURRENCY))


def refund_quote(payment: Payment, amount_micros: int) -> RefundQuote:
    """Return the effect of refunding this amount of the payment now."""
    bonus = bonus_for(payment) if amount_micros else None
    if bonus is None:
        return RefundQuote(amount_micros)
    kept = kept_micros(payment) - amount_micros
    return RefundQuote(amount_micros, max(0, bonus.to_repay(kept)), max(0, -bonus.change(kept)))


def auto_topped_up_micros(owner_id: UUID, month_from: datetime) -> int:
    """Return what the rule has charged, or may still have charged, since the beginning of the month."""
    counted = [PaymentState.PENDING, PaymentState.SUCCEEDED]
    own = Payment.objects.filter(owner_id=owner_id, origin=Payment.Origin.AUTO, state__in=counted)
    return own.filter(created_at__gte=month_from).aggregate(total=Sum("amount_micros"))["total"] or 0


def wallets_to_fill(now: datetime, tried_before: datetime) -> list[UUID]:
    """Return owners whose wallet is below their rule's threshold and whose card may be tried now."""
    low = Wallet.objects.filter(
        kind=Wallet.Kind.RENTER,
        owner__payment_profile__auto_enabled=True,
        owner__payment_profile__auto_failure="",
        balance_micros__lt=F("held_micros") + F("owner__payment_profile__auto_threshold_micros"),
        owner__is_active=True,
    ).exclude(owner__payment_profile__card_id="")
    due = low.exclude(owner__payment_profile__auto_tried_at__gt=tried_before)
    return [owner for owner in due.values_list("owner_id", flat=True) if owner is not None]


def wallets_in_dispute() -> set[UUID]:
    """Return owners with an undecided dispute: their spot instances stop."""
    return set(Dispute.objects.filter(state=DisputeState.OPEN).values_list("payment__owner_id", flat=True))


def last_reconciled_until(before: datetime | None = None) -> datetime | None:
    """Return where the last successful comparison ended, optionally of those that ended before `before`."""
    good = Reconciliation.objects.filter(failure="", finished_at__isnull=False)
    good = good if before is None else good.filter(until__lt=before)
    return good.order_by("-until").values_list("until", flat=True).first()
