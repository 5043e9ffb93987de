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
    account_ending = serializers.CharField(help_text="The last characters of the account it goes to")
    state = serializers.ChoiceField(choices=PayoutState.choices)
    created_at = serializers.DateTimeField()
    matured_until = serializers.DateTimeField(help_text="Earnings up to here had matured")
    sent_at = serializers.DateTimeField(allow_null=True)
    settled_at = serializers.DateTimeField(allow_null=True, help_text="When it was paid or had failed")
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
    balance = serializers.CharField(help_text="Of the earnings; negative after a refund that came too late")
    maturing = serializers.CharField(help_text="Earned within the holding period")
    reserve = serializers.CharField(help_text="Kept against disputes and refunds")
    disputed = serializers.CharField(
        help_text="From money that renters owe, since a bank took it back or a term was left unpaid"
    )
    unpaid = serializers.CharField(help_text="From one's own rentals, and gifts to teammates: never paid out")
    debt = serializers.CharField(help_text="What the owner owes; matured earnings repay it")
    payable = serializers.CharField(help_text="What a payout asked for now would be")
    under_way = serializers.CharField(help_text="On its way: it has left the balance already")
    frozen = serializers.BooleanField(help_text="Staff have stopped payouts for now")


class PayoutAccountOut(serializers.Serializer[Any]):
    """Account that receives earnings; only the last characters of its number are ever shown again."""

    method = serializers.ChoiceField(choices=PayoutMethod.choices)
    account_ending = serializers.CharField()
    holder = serializers.CharField()
    bank = serializers.CharField()
    minimum = serializers.CharField(help_text="Paid out by itself from this amount on")
    automatic = serializers.BooleanField(help_text="Every week")
    frozen = serializers.BooleanField()
    frozen_reason = serializers.CharField()
    changed_at = serializers.DateTimeField()
    pays_from = serializers.DateTimeField(allow_null=True, help_text="No payout goes there before; null: at once")


class PayoutAccountIn(serializers.Serializer[Any]):
    """Account for earnings.

    `stripe` needs `stripe_account_id`; `bank` needs the holder and an IBAN, or an account number with the bank.
    """

    method = serializers.ChoiceField(choices=PayoutMethod.choices)
    stripe_account_id = serializers.CharField(required=False, max_length=64)
    holder = NameText(required=False, max_length=120)
    iban = serializers.CharField(required=False, max_length=60)
    bank = NameText(required=False, max_length=80)
    minimum = AmountText(required=False, help_text="10.00 when it is left out")
    automatic = serializers.BooleanField(required=False, default=True)


class OnboardingOut(serializers.Serializer[Any]):
    """Address at which onboarding continues; once Stripe can pay, payouts go there automatically."""

    url = serializers.URLField(help_text="For a browser in which the owner is signed in here")


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
