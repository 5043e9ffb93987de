# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class OnboardingOut(Struct, frozen=True, kw_only=True):
    """Address at which onboarding continues; once Stripe can pay, payouts go there automatically.

    Attributes:
        url: To open in a browser in which the owner is signed in
    """

    url: str


class PayoutAccountOut(Struct, frozen=True, kw_only=True):
    """Account that receives earnings; only the last characters of its number are ever shown again.

    Attributes:
        minimum: Minimum amount for automatic payouts
        automatic: Every week
        pays_from: No payouts before this time; null: immediately
    """

    method: str
    account_ending: str
    holder: str
    bank: str
    minimum: str
    automatic: bool
    frozen: bool
    frozen_reason: str
    changed_at: datetime
    pays_from: datetime | None
