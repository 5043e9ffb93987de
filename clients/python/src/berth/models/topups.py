# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct


class BonusOut(Struct, frozen=True, kw_only=True):
    """Bonus that a percent coupon gave for a top-up; `used` includes what is held for running instances.

    Attributes:
        repaid: Deducted from the wallet for used bonus that the kept part doesn't earn
    """

    given: str
    used: str
    repaid: str


class DisputeOut(Struct, frozen=True, kw_only=True):
    """Money that the cardholder's bank has reversed; when `won`, it is back in the wallet."""

    amount: str
    state: str
    opened_at: datetime


DisputeOutState = Literal["open", "won", "lost"] | str

Origin = Literal["checkout", "auto"] | str


class RefundOut(Struct, frozen=True, kw_only=True):
    """A refund to the card; when `failed`, the amount is back in the wallet."""

    amount: str
    state: str
    reason: str
    created_at: datetime


RefundOutState = Literal["pending", "succeeded", "failed"] | str


class TopUpDetail(Struct, frozen=True, kw_only=True):
    """A top-up with the effect of a refund now.

    Attributes:
        checkout_url: Stripe's payment page; empty once it can no longer be paid
        failure: The last message from the card issuer
        refundable: Amount that can be refunded to the card
        refund_takes: Amount deducted from the wallet for the used bonus of this top-up
    """

    id: str
    amount: str
    currency: str
    state: str
    origin: str
    checkout_url: str
    refunded: str
    failure: str
    created_at: datetime
    paid_at: datetime | None
    refunds: list[RefundOut]
    disputes: list[DisputeOut]
    bonus: BonusOut | None
    refundable: str
    refund_takes: str


class TopUpOut(Struct, frozen=True, kw_only=True):
    """A card payment, credited once Stripe confirms it (state `succeeded`).

    Attributes:
        checkout_url: Stripe's payment page; empty once it can no longer be paid
        failure: The last message from the card issuer
    """

    id: str
    amount: str
    currency: str
    state: str
    origin: str
    checkout_url: str
    refunded: str
    failure: str
    created_at: datetime
    paid_at: datetime | None
    refunds: list[RefundOut]
    disputes: list[DisputeOut]
    bonus: BonusOut | None


class TopUpPage(Struct, frozen=True, kw_only=True):
    """A page of top-ups, newest first."""

    next: str | None
    previous: str | None
    results: list[TopUpOut]


TopUpState = Literal["pending", "succeeded", "failed", "expired"] | str
