"""Serializers of payouts."""

from typing import Any

from rest_framework import serializers

from billing.models import Payout, PayoutAccount, PayoutMethod
from billing.payouts.payable_balance import Payable
from billing.states import PayoutState
from common.http.fields import AmountText, NameText
from common.ids import public_id
from common.money import format_money


class PayoutOut(serializers.Serializer[Any]):
    """Earnings on their way to their owner; when `failed`, the money is back in the earnings."""

    id = serializers.CharField()
    amount = serializers.CharField()
    currency = serializers.CharField()
    method = serializers.ChoiceField(choices=PayoutMethod.choices)
    account_ending = serializers.CharField(help_text="The last characters of the destination account")
    state = serializers.ChoiceField(choices=PayoutState.choices)
    created_at = serializers.DateTimeField()
    matured_until = serializers.DateTimeField(help_text="Earnings up to this point were settled")
    sent_at = serializers.DateTimeField(allow_null=True)
    settled_at = serializers.DateTimeField(allow_null=True, help_text="When it was paid or failed")
    reference = serializers.CharField(help_text="Stripe's transfer, or the bank's own reference")
    failure = serializers.CharField()


class PayoutPage(serializers.Serializer[Any]):
    """A page of payouts, newest first."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = PayoutOut(many=True)


class PayoutIn(serializers.Serializer[Any]):
    """Amount to pay out; without it, everything that can be paid out."""

    amount = AmountText(required=False)


class PayableOut(serializers.Serializer[Any]):
    """payable = balance − maturing − reserve − disputed − unpaid − debt, never below zero, in whole cents."""

    currency = serializers.CharField()
    balance = serializers.CharField(help_text="Of the earnings; negative after a refund that followed a payout")
    maturing = serializers.CharField(help_text="Earned within the holding period")
    reserve = serializers.CharField(help_text="Reserve against disputes and refunds")
    disputed = serializers.CharField(
        help_text="From payments that renters owe, because of a dispute or an unpaid early termination"
    )
    unpaid = serializers.CharField(help_text="From own rentals, and credit given to teammates: never paid out")
    debt = serializers.CharField(help_text="The owner's debt; settled earnings repay it")
    payable = serializers.CharField(help_text="The amount of a payout requested now")
    under_way = serializers.CharField(help_text="In progress: already deducted from the balance")
    frozen = serializers.BooleanField(help_text="Payouts are suspended by support")


class PayoutAccountOut(serializers.Serializer[Any]):
    """Account that receives earnings; only the last characters of its number are ever shown again."""

    method = serializers.ChoiceField(choices=PayoutMethod.choices)
    account_ending = serializers.CharField()
    holder = serializers.CharField()
    bank = serializers.CharField()
    minimum = serializers.CharField(help_text="Minimum amount for automatic payouts")
    automatic = serializers.BooleanField(help_text="Every week")
    frozen = serializers.BooleanField()
    frozen_reason = serializers.CharField()
    changed_at = serializers.DateTimeField()
    pays_from = serializers.DateTimeField(allow_null=True, help_text="No payouts before this time; null: immediately")


class PayoutAccountIn(serializers.Serializer[Any]):
    """Account for earnings.

    `stripe` needs `stripe_account_id`; `bank` needs the holder and an IBAN, or an account number with the bank.
    """

    method = serializers.ChoiceField(choices=PayoutMethod.choices)
    stripe_account_id = serializers.CharField(required=False, max_length=64)
    holder = NameText(required=False, max_length=120)
    iban = serializers.CharField(required=False, max_length=60)
    bank = NameText(required=False, max_length=80)
    minimum = AmountText(required=False, help_text="Default 10.00")
    automatic = serializers.BooleanField(required=False, default=True)


class OnboardingOut(serializers.Serializer[Any]):
    """Address at which onboarding continues; once Stripe can pay, payouts go there automatically."""

    url = serializers.URLField(help_text="For a browser in which the owner is signed in")


def payout_shape(payout: Payout, currency: str) -> dict[str, Any]:
    return {
        "id": public_id("payout", payout.pk),
        "amount": format_money(payout.amount_micros),
        "currency": currency,
        "method": payout.method,
        "account_ending": payout.ending,
        "state": payout.state,
        "created_at": payout.created_at,
        "matured_until": payout.matured_until,
        "sent_at": payout.sent_at,
        "settled_at": payout.settled_at,
        "reference": payout.reference,
        "failure": payout.failure,
    }


def payable_shape(payable: Payable, account: PayoutAccount | None) -> dict[str, Any]:
    return {
        "currency": payable.currency,
        "balance": format_money(payable.balance_micros),
        "maturing": format_money(payable.waiting_micros),
        "reserve": format_money(payable.reserve_micros),
        "disputed": format_money(payable.disputed_micros),
        "unpaid": format_money(payable.unpaid_micros),
        "debt": format_money(payable.debt_micros),
        "payable": format_money(payable.payable_micros),
        "under_way": format_money(payable.under_way_micros),
        "frozen": account is not None and account.frozen,
    }


def account_shape(account: PayoutAccount) -> dict[str, Any]:
    return {
        "method": account.method,
        "account_ending": account.destination.ending,
        "holder": account.holder,
        "bank": account.bank,
        "minimum": format_money(account.minimum_micros),
        "automatic": account.automatic,
        "frozen": account.frozen,
        "frozen_reason": account.frozen_reason,
        "changed_at": account.changed_at,
        "pays_from": account.pays_from,
    }
