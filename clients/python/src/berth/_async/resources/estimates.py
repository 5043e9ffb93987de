# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `estimates`."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncResource
from berth._core.calls import Call


class Estimates(AsyncResource):
    async def create(
        self,
        *,
        unit_price: Decimal | str,
        hours: Decimal | str,
        billing_mode: models.BillingMode | UnsetType = UNSET,
        modes: Sequence[models.BillingMode] | UnsetType = UNSET,
        gpu_count: int | UnsetType = UNSET,
        discount: str | UnsetType = UNSET,
        tiers: Sequence[models.TierStep] | UnsetType = UNSET,
        storage_total: Decimal | str | UnsetType = UNSET,
        peak_factor: Decimal | str | UnsetType = UNSET,
        term: models.Term | UnsetType | None = UNSET,
        payment: models.Payment | UnsetType = UNSET,
        spot_price: Decimal | str | UnsetType | None = UNSET,
        floor: Decimal | str | UnsetType | None = UNSET,
        max_price: Decimal | str | UnsetType | None = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.EstimateOut:
        """Estimate the cost of a workload in any billing mode, at any prices.

        Args:
            unit_price: Per GPU and hour
            modes: Modes to compare, with their break-even points; `discount` then applies to the reserved term
            discount: Discount on the unit price: "0.58" or "58%"
            tiers: For the tiered mode, in ascending order
            storage_total: Total storage cost, added to the result
            peak_factor: Multiplies all costs, including storage
            term: For the reserved mode; null: `hours` are charged
            spot_price: Current market price; default: the unit price
            floor: For the spot mode
            max_price: For the spot mode
        """
        return await self._send(
            Call(
                "POST",
                "/api/v1/estimates",
                models.EstimateOut,
                body={
                    "unit_price": unit_price,
                    "hours": hours,
                    "billing_mode": billing_mode,
                    "modes": modes,
                    "gpu_count": gpu_count,
                    "discount": discount,
                    "tiers": tiers,
                    "storage_total": storage_total,
                    "peak_factor": peak_factor,
                    "term": term,
                    "payment": payment,
                    "spot_price": spot_price,
                    "floor": floor,
                    "max_price": max_price,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )
