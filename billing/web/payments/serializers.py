"""Serializers of top-ups."""

from typing import Any

from rest_framework import serializers

from billing.coupons.rules import Bonus
from billing.coupons.selectors import bonus_for
from billing.models import Payment
from billing.payments.selectors import refund_quote, refundable_micros
from billing.states import DisputeState, PaymentState, RefundState
from common.http.fields import AmountText
from common.ids import public_id
from common.money import format_money


class TopUpIn(serializers.Serializer[Any]):
    """Amount to pay; `save_card` keeps the card for automatic top-ups."""

    amount = AmountText(help_text="In the market's currency")
    save_card = serializers.BooleanField(default=False)


class RefundOut(serializers.Serializer[Any]):
    """Money on its way back to the card; when `failed`, it is in the wallet again."""

    amount = serializers.CharField()
    state = serializers.ChoiceField(choices=RefundState.choices)
    reason = serializers.CharField()
    created_at = serializers.DateTimeField()


class DisputeOut(serializers.Serializer[Any]):
    """Money that the cardholder's bank has taken back; when `won`, it is in the wallet again."""

    amount = serializers.CharField()
    state = serializers.ChoiceField(choices=DisputeState.choices)
    opened_at = serializers.DateTimeField()


class BonusOut(serializers.Serializer[Any]):
    """Bonus that a percent coupon gave for a top-up; `used` includes what is held for running instances."""

    given = serializers.CharField()
    used = serializers.CharField()
    repaid = serializers.CharField(help_text="Deducted from the wallet for used bonus that the kept part doesn't earn")


class TopUpOut(serializers.Serializer[Any]):
    """A card payment; it is credited when Stripe says that it is paid (state `succeeded`)."""

    id = serializers.CharField()
    amount = serializers.CharField()
    currency = serializers.CharField()
    state = serializers.ChoiceField(choices=PaymentState.choices)
    origin = serializers.ChoiceField(choices=Payment.Origin.choices)
    checkout_url = serializers.CharField(help_text="Stripe's payment page; empty once it can no longer be paid")
    refunded = serializers.CharField()
    failure = serializers.CharField(help_text="The last message of the card's bank")
    created_at = serializers.DateTimeField()
    paid_at = serializers.DateTimeField(allow_null=True)
    refunds = RefundOut(many=True)
    disputes = DisputeOut(many=True)
    bonus = BonusOut(allow_null=True)


class TopUpDetail(TopUpOut):
    """A top-up with the effect of a refund now."""

    refundable = serializers.CharField(help_text="Amount that can be refunded to the card")
    refund_takes = serializers.CharField(help_text="Amount deducted from the wallet for the used bonus of this top-up")


class TopUpPage(serializers.Serializer[Any]):
    """A page of top-ups, newest first."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = TopUpOut(many=True)


def top_up_shape(payment: Payment, currency: str) -> dict[str, Any]:
    return {
        "id": public_id("topup", payment.pk),
        "amount": format_money(payment.amount_micros),
        "currency": currency,
        "state": payment.state,
        "origin": payment.origin,
        "checkout_url": payment.checkout_url if payment.state == PaymentState.PENDING else "",
        "refunded": format_money(payment.refunded_micros),
        "failure": payment.failure,
        "created_at": payment.created_at,
        "paid_at": payment.paid_at,
        "refunds": [
            {
                "amount": format_money(row.amount_micros),
                "state": row.state,
                "reason": row.reason,
                "created_at": row.created_at,
            }
            for row in payment.refunds.all()
        ],
        "disputes": [
            {"amount": format_money(row.amount_micros), "state": row.state, "opened_at": row.opened_at}
            for row in payment.disputes.all()
        ],
        "bonus": _bonus_shape(bonus_for(payment)),
    }


def top_up_detail(payment: Payment, currency: str) -> dict[str, Any]:
    quote = refund_quote(payment, refundable_micros(payment))
    return {
        **top_up_shape(payment, currency),
        "refundable": format_money(quote.amount_micros),
        "refund_takes": format_money(quote.bonus_micros),
    }


def _bonus_shape(bonus: Bonus | None) -> dict[str, str] | None:
    if bonus is None:
        return None
    amounts = {"given": bonus.granted, "used": bonus.out, "repaid": bonus.repaid}
    return {name: format_money(micros) for name, micros in amounts.items()}
