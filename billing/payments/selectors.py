"""Reads of card payments: a renter's own, what may be refunded, who is in dispute, what the staff must see to."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import F, QuerySet, Sum

from billing.constants import FROZEN_SOURCE
from billing.coupons.bonus_selectors import bonus_for, kept_micros
from billing.ledger.promotional_selectors import cash_micros
from billing.metering.commitment_selectors import committed_micros
from billing.models import Dispute, Entry, Hold, Payment, PaymentProfile, Reconciliation, Wallet
from billing.states import DisputeState, PaymentState
from billing.stripe.currencies import round_down, step_micros
from common.errors import NotFound

# What is not cash is spent first: grants, coupon money, credits, transfers and returned prepayments. Walking the wallet's
# entries in order, that part never falls below nothing: it is the running sum less the lowest that the sum has been.
# Cash itself (top-ups, refunds to the card, disputes, what is repaid of a used bonus) does not touch that part. Here a
# transfer that leaves counts as money that came without a card; what the market gave is never passed on, so that what
# is refunded is `cash_micros` at most.
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
    """Raises NotFound for a payment that is not theirs."""
    payment = payments_of(owner_id).filter(pk=payment_id).first()
    if payment is None:
        raise NotFound("There is no such top-up.")
    return payment


def profile_of(owner_id: UUID) -> PaymentProfile:
    """The saved card and the rule; an empty one for who has neither."""
    return PaymentProfile.objects.filter(pk=owner_id).first() or PaymentProfile(owner_id=owner_id)


def owed_micros(owner_id: UUID) -> int:
    """What a renter owes after a dispute, a refund or an early end of a term that the wallet could not pay."""
    balance = (
        Wallet.objects.filter(owner_id=owner_id, kind=Wallet.Kind.DEBT).values_list("balance_micros", flat=True).first()
    )
    return -(balance or 0)


def frozen_micros(owner_id: UUID) -> int:
    """What lies in the wallet of money that somebody else owes: it came by a transfer, and is held until that is repaid."""
    held = Hold.objects.filter(source_kind=FROZEN_SOURCE, released_at=None, wallet__owner=owner_id)
    return held.aggregate(total=Sum("amount_micros"))["total"] or 0


def pending_micros(owner_id: UUID) -> int:
    """Paid at Stripe, or being paid there, and not credited yet."""
    pending = Payment.objects.filter(owner_id=owner_id, state=PaymentState.PENDING, failure="").exclude(intent_id=None)
    return pending.aggregate(total=Sum("amount_micros"))["total"] or 0


def unspent_cash_micros(owner_id: UUID) -> int:
    """Cash in the wallet that nothing is held for and no term answers to; nothing while something is owed."""
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
    """What a refund does: so much goes to the card, the wallet pays so much for a used bonus, and the rest of it lapses."""

    amount_micros: int
    bonus_micros: int = 0
    lapses_micros: int = 0


def refundable_micros(payment: Payment) -> int:
    """How much of a payment may go back to its card now: unspent cash, less what went back or is disputed.

    The cash also pays for what was used of a bonus that the rest of the payment does not give.
    """
    if payment.state != PaymentState.SUCCEEDED:
        return 0
    kept, cash = kept_micros(payment), unspent_cash_micros(payment.owner_id)
    bonus = bonus_for(payment)
    if bonus is None:
        return round_down(min(kept, cash), settings.MARKET_CURRENCY)
    return bonus.most_refundable(kept_micros=kept, cash_micros=cash, step_micros=step_micros(settings.MARKET_CURRENCY))


def refund_quote(payment: Payment, amount_micros: int) -> RefundQuote:
    """Of so much of the payment, as things stand."""
    bonus = bonus_for(payment) if amount_micros else None
    if bonus is None:
        return RefundQuote(amount_micros)
    kept = kept_micros(payment) - amount_micros
    return RefundQuote(amount_micros, max(0, bonus.to_repay(kept)), max(0, -bonus.change(kept)))


def auto_topped_up_micros(owner_id: UUID, month_from: datetime) -> int:
    """What the rule has charged, or may yet have charged, since the beginning of the month."""
    counted = [PaymentState.PENDING, PaymentState.SUCCEEDED]
    own = Payment.objects.filter(owner_id=owner_id, origin=Payment.Origin.AUTO, state__in=counted)
    return own.filter(created_at__gte=month_from).aggregate(total=Sum("amount_micros"))["total"] or 0


def wallets_to_fill(now: datetime, tried_before: datetime) -> list[UUID]:
    """Owners whose wallet has less to spend than their rule says, and whose card may be tried now."""
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
    """Owners of whom a payment is disputed and not decided: their spot instances stop."""
    return set(Dispute.objects.filter(state=DisputeState.OPEN).values_list("payment__owner_id", flat=True))


def last_reconciled_until(before: datetime | None = None) -> datetime | None:
    """Where the last good comparison ended; of those that had ended `before`."""
    good = Reconciliation.objects.filter(failure="", finished_at__isnull=False)
    good = good if before is None else good.filter(until__lt=before)
    return good.order_by("-until").values_list("until", flat=True).first()
