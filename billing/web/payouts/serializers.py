"""Serializers of payouts."""

from datetime import datetime
from typing import Annotated, Any

from rest_framework import serializers

from billing.models import Payout, PayoutAccount, PayoutMethod
from billing.payouts.payable_balance import PayableBalance
from billing.states import PayoutState
from common.http.fields import AmountText, NameText
from common.http.resource_schemas import page_of
from common.ids import public_id
from common.money import format_money
from common.resources import OneOf, resource


@resource
class PayoutOut:
    """A payout of earnings; when `failed`, the amount is back in the earnings."""

    id: str
    amount: str
    currency: str
    method: Annotated[str, OneOf(PayoutMethod.choices)]
    account_ending: Annotated[str, "The last characters of the destination account"]
    state: Annotated[str, OneOf(PayoutState.choices)]
    created_at: datetime
    matured_until: Annotated[datetime, "Earnings up to this point were settled"]
    sent_at: datetime | None
    settled_at: Annotated[datetime | None, "When it was paid or failed"]
    reference: Annotated[str, "Stripe's transfer, or the bank's own reference"]
    failure: str


PayoutPage = page_of(PayoutOut, "PayoutPage", "A page of payouts, newest first.")


class PayoutIn(serializers.Serializer[Any]):
    """Amount to pay out; without it, everything that can be paid out."""

    amount = AmountText(required=False)


@resource
class PayableOut:
    """payable = balance − maturing − reserve − disputed − unpaid − debt, never below zero, in whole cents."""

    currency: str
    balance: Annotated[str, "Of the earnings; negative after a refund that followed a payout"]
    maturing: Annotated[str, "Earned within the holding period"]
    reserve: Annotated[str, "Reserve against disputes and refunds"]
    disputed: Annotated[str, "From payments that renters still owe after a dispute or an unpaid early termination"]
    unpaid: Annotated[str, "From your own rentals, and from team members' account credit; never paid out"]
    debt: Annotated[str, "The owner's debt, repaid from settled earnings"]
    payable: Annotated[str, "The amount of a payout requested now"]
    under_way: Annotated[str, "In progress: already deducted from the balance"]
    frozen: Annotated[bool, "Whether support has suspended payouts"]


@resource
class PayoutAccountOut:
    """Account that receives earnings; only the last characters of its number are ever shown again."""

    method: Annotated[str, OneOf(PayoutMethod.choices)]
    account_ending: str
    holder: str
    bank: str
    minimum: Annotated[str, "Minimum amount for automatic payouts"]
    automatic: Annotated[bool, "Every week"]
    frozen: bool
    frozen_reason: str
    changed_at: datetime
    pays_from: Annotated[datetime | None, "No payouts before this time; null: immediately"]


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


@resource
class OnboardingOut:
    """Address at which onboarding continues; once Stripe can pay, payouts go there automatically."""

    url: Annotated[str, serializers.URLField, "To open in a browser in which the owner is signed in"]


def payout_resource(payout: Payout, currency: str) -> PayoutOut:
    return PayoutOut(
        id=public_id("payout", payout.pk),
        amount=format_money(payout.amount_micros),
        currency=currency,
        method=payout.method,
        account_ending=payout.ending,
        state=payout.state,
        created_at=payout.created_at,
        matured_until=payout.matured_until,
        sent_at=payout.sent_at,
        settled_at=payout.settled_at,
        reference=payout.reference,
        failure=payout.failure,
    )


def payable_resource(payable: PayableBalance, account: PayoutAccount | None) -> PayableOut:
    return PayableOut(
        currency=payable.currency,
        balance=format_money(payable.balance_micros),
        maturing=format_money(payable.waiting_micros),
        reserve=format_money(payable.reserve_micros),
        disputed=format_money(payable.disputed_micros),
        unpaid=format_money(payable.unpaid_micros),
        debt=format_money(payable.debt_micros),
        payable=format_money(payable.payable_micros),
        under_way=format_money(payable.under_way_micros),
        frozen=account is not None and account.frozen,
    )


def account_resource(account: PayoutAccount) -> PayoutAccountOut:
    return PayoutAccountOut(
        method=account.method,
        account_ending=account.destination.ending,
        holder=account.holder,
        bank=account.bank,
        minimum=format_money(account.minimum_micros),
        automatic=account.automatic,
        frozen=account.frozen,
        frozen_reason=account.frozen_reason,
        changed_at=account.changed_at,
        pays_from=account.pays_from,
    )
