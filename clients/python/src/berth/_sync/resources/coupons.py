# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `coupons`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Pager, Resource


class Coupons(Resource):
    def list(
        self, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> Pager[models.PaginatedCouponOutList, models.CouponOut]:
        """List your coupons in the order in which they are spent.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call("GET", "/api/v1/coupons", models.PaginatedCouponOutList, query={"limit": limit}, timeout=timeout),
            models.CouponOut,
        )

    def redeem(
        self, *, code: str, dry_run: bool = False, idempotency_key: str | None = None, timeout: float | None = None
    ) -> models.CouponOut:
        """Redeem a coupon code: credit at once, or a bonus on the next top-up.

        Args:
            code: Case-insensitive
        """
        return self._send(
            Call(
                "POST",
                "/api/v1/coupons/redeem",
                models.CouponOut,
                body={"code": code},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )
