# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `topups`."""

from __future__ import annotations

from decimal import Decimal

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Resource


class Topups(Resource):
    def list(self, *, timeout: float | None = None) -> models.TopUpPage:
        """List your top-ups."""
        return self._send(Call("GET", "/api/v1/topups", models.TopUpPage, timeout=timeout))

    def create(
        self,
        *,
        amount: Decimal | str,
        save_card: bool | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.TopUpOut:
        """Start a top-up, to be paid at `checkout_url`; nothing is charged here.

        A dry run checks the amount without a request to Stripe.

        Args:
            amount: In the currency of the site
        """
        return self._send(
            Call(
                "POST",
                "/api/v1/topups",
                models.TopUpOut,
                body={"amount": amount, "save_card": save_card},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def get(self, topup_id: str, *, timeout: float | None = None) -> models.TopUpDetail:
        """Return one of your top-ups."""
        return self._send(Call("GET", f"/api/v1/topups/{self._part(topup_id)}", models.TopUpDetail, timeout=timeout))
