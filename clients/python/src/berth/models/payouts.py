# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct


class PayableOut(Struct, frozen=True, kw_only=True):
    """payable = balance − maturing − reserve − disputed − unpaid − debt, never below zero, in whole cents.

    Attributes:
        balance: Of the earnings; negative after a refund that followed a payout
        maturing: Earned within the holding period
        reserve: Reserve against disputes and refunds
        disputed: From payments that renters still owe after a dispute or an unpaid early termination
        unpaid: From your own rentals, and from team members' account credit; never paid out
        debt: The owner's debt, repaid from settled earnings
        payable: The amount of a payout requested now
        under_way: In progress: already deducted from the balance
        frozen: Whether support has suspended payouts
    """

    currency: str
    balance: str
    maturing: str
    reserve: str
    disputed: str
    unpaid: str
    debt: str
    payable: str
    under_way: str
    frozen: bool


class PayoutOut(Struct, frozen=True, kw_only=True):
    """A payout of earnings; when `failed`, the amount is back in the earnings.

    Attributes:
        account_ending: The last characters of the destination account
        matured_until: Earnings up to this point were settled
        settled_at: When it was paid or failed
        reference: Stripe's transfer, or the bank's own reference
    """

    id: str
    amount: str
    currency: str
    method: str
    account_ending: str
    state: str
    created_at: datetime
    matured_until: datetime
    sent_at: datetime | None
    settled_at: datetime | None
    reference: str
    failure: str


PayoutOutState = Literal["pending", "sent", "paid", "failed"] | str


class PayoutPage(Struct, frozen=True, kw_only=True):
    """A page of payouts, newest first."""

    next: str | None
    previous: str | None
    results: list[PayoutOut]
