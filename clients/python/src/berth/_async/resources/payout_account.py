# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `payout_account`."""

from __future__ import annotations

from decimal import Decimal

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncResource
from berth._core.calls import Call


class PayoutAccount(AsyncResource):
    async def get(self, *, timeout: float | None = None) -> models.PayoutAccountOut:
        """Return the account that receives your earnings."""
        return await self._send(Call("GET", "/api/v1/payout-account", models.PayoutAccountOut, timeout=timeout))

    async def set(
        self,
        *,
        method: models.Method,
        stripe_account_id: str | UnsetType = UNSET,
        holder: str | UnsetType = UNSET,
        iban: str | UnsetType = UNSET,
        bank: str | UnsetType = UNSET,
        minimum: Decimal | str | UnsetType = UNSET,
        automatic: bool | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.PayoutAccountOut:
        """Set the account that receives your earnings.

        Only works in a session that has just confirmed the password or second factor, never with a token.

        Args:
            minimum: Default 10.00
        """
        return await self._send(
            Call(
                "PUT",
                "/api/v1/payout-account",
                models.PayoutAccountOut,
                body={
                    "method": method,
                    "stripe_account_id": stripe_account_id,
                    "holder": holder,
                    "iban": iban,
                    "bank": bank,
                    "minimum": minimum,
                    "automatic": automatic,
                },
                timeout=timeout,
            )
        )

    async def onboarding(
        self, *, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.OnboardingOut:
        """Return the address of Stripe's page on which you verify your identity.

        It can be opened once, within minutes. Works only in a session that has just confirmed the password or
        second factor, because whoever completes that page is paid.
        """
        return await self._send(
            Call(
                "POST",
                "/api/v1/payout-account/onboarding",
                models.OnboardingOut,
                body={},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )
