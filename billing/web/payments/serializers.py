"""Serializers of top-ups."""

from datetime import datetime
from typing import Annotated, Any

from rest_framework import serializers

from billing.coupons.rules import Bonus
from billing.coupons.selectors import bonus_for
from billing.models import Payment
from billing.payments.selectors import refund_quote, refundable_micros
from billing.states import DisputeState, PaymentState, RefundState
from common.http.fields import AmountText
from common.http.resource_schemas import page_of
from common.ids import public_id
from common.money import format_money
from common.resources import OneOf, resource


class TopUpIn(serializers.Serializer[Any]):
    """Amount to pay; `save_card` keeps the card for automatic top-ups."""

    amount = AmountText(help_text="In the currency of the site")
    save_card = serializers.BooleanField(default=False)


@resource
class RefundOut:
    """A refund to the card; when `failed`, the amount is back in the wallet."""

    amount: str
    state: Annotated[str, OneOf(RefundState.choices)]
    reason: str
    created_at: datetime


@resource
class DisputeOut:
    """Money that the cardholder's bank has reversed; when `won`, it is back in the wallet."""

    amount: str
    state: Annotated[str, OneOf(DisputeState.choices)]
    opened_at: datetime


@resource
class BonusOut:
    """Bonus that a percent coupon gave for a top-up; `used` includes what is held for running instances."""

    given: str
    used: str
    repaid: Annotated[str, "Deducted from the wallet for used bonus that the kept part doesn't earn"]


@resource
class TopUpOut:
    """A card payment, credited once Stripe confirms it (state `succeeded`)."""

    id: str
    amount: str
    currency: str
    state: Annotated[str, OneOf(PaymentState.choices)]
    origin: Annotated[str, OneOf(Payment.Origin.choices)]
    checkout_url: Annotated[str, "Stripe's payment page; empty once it can no longer be paid"]
    refunded: str
    failure: Annotated[str, "The last message from the card issuer"]
    created_at: datetime
    paid_at: datetime | None
    refunds: list[RefundOut]
    disputes: list[DisputeOut]
    bonus: BonusOut | None


@resource
class TopUpDetail(TopUpOut):
    """A top-up with the effect of a refund now."""

    refundable: Annotated[str, "Amount that can be refunded to the card"]
    refund_takes: Annotated[str, "Amount deducted from the wallet for the used bonus of this top-up"]


TopUpPage = page_of(TopUpOut, "TopUpPage", "A page of top-ups, newest first.")


def top_up_resource(payment: Payment, currency: str) -> TopUpOut:
    return TopUpOut(
        id=public_id("topup", payment.pk),
        amount=format_money(payment.amount_micros),
        currency=currency,
        state=payment.state,
        origin=payment.origin,
        checkout_url=payment.checkout_url if payment.state == PaymentState.PENDING else "",
        refunded=format_money(payment.refunded_micros),
        failure=payment.failure,
        created_at=payment.created_at,
        paid_at=payment.paid_at,
        refunds=[
            RefundOut(amount=format_money(row.amount_micros), state=row.state, reason=row.reason, created_at=row.created_at)
            for row in payment.refunds.all()
        ],
        disputes=[
            DisputeOut(amount=format_money(row.amount_micros), state=row.state, opened_at=row.opened_at)
            for row in payment.disputes.all()
        ],
        bonus=_bonus(bonus_for(payment)),
    )


def top_up_detail(payment: Payment, currency: str) -> TopUpDetail:
    quote = refund_quote(payment, refundable_micros(payment))
    return TopUpDetail(
        **vars(top_up_resource(payment, currency)),
        refundable=format_money(quote.amount_micros),
        refund_takes=format_money(quote.bonus_micros),
    )


def _bonus(bonus: Bonus | None) -> BonusOut | None:
    if bonus is None:
        return None
    return BonusOut(given=format_money(bonus.granted), used=format_money(bonus.out), repaid=format_money(bonus.repaid))
