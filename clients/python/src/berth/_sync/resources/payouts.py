# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `payouts`."""

from __future__ import annotations

from decimal import Decimal

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Resource


class Payouts(Resource):
    def list(self, *, timeout: float | None = None) -> models.PayoutPage:
        """List your payouts, or request one."""
        return self._send(Call("GET", "/api/v1/payouts", models.PayoutPage, timeout=timeout))

    def create(
        self,
        *,
        amount: Decimal | str | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.PayoutOut:
        """List your payouts, or request one."""
        return self._send(
            Call(
                "POST",
                "/api/v1/payouts",
                models.PayoutOut,
                body={"amount": amount},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def get(self, payout_id: str, *, timeout: float | None = None) -> models.PayoutOut:
        """Return one of your payouts."""
        return self._send(Call("GET", f"/api/v1/payouts/{self._part(payout_id)}", models.PayoutOut, timeout=timeout))

    def payable(self, *, timeout: float | None = None) -> models.PayableOut:
        """Return how much of your earnings can be paid out now, and why the rest can't."""
        return self._send(Call("GET", "/api/v1/payouts/payable", models.PayableOut, timeout=timeout))
