# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `budgets`."""

from __future__ import annotations

from decimal import Decimal

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Pager, Resource


class Budgets(Resource):
    def list(
        self, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> Pager[models.PaginatedBudgetOutList, models.BudgetOut]:
        """List your budgets.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call("GET", "/api/v1/budgets", models.PaginatedBudgetOutList, query={"limit": limit}, timeout=timeout),
            models.BudgetOut,
        )

    def create(
        self,
        *,
        scope: models.Scope,
        limit: Decimal | str,
        subject: str | UnsetType = UNSET,
        period: models.Period | UnsetType = UNSET,
        hard: bool | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.BudgetOut:
        """List your budgets.

        Args:
            limit: A decimal string such as 100.00
            subject: inst_…, user_… or team_…; empty: yourself
            period: A calendar month (UTC), or in total
            hard: true: hard limit, stops the instances it covers; false: alerts only
        """
        return self._send(
            Call(
                "POST",
                "/api/v1/budgets",
                models.BudgetOut,
                body={"scope": scope, "limit": limit, "subject": subject, "period": period, "hard": hard},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def get(self, budget_id: str, *, timeout: float | None = None) -> models.BudgetOut:
        """Return one of your budgets."""
        return self._send(Call("GET", f"/api/v1/budgets/{self._part(budget_id)}", models.BudgetOut, timeout=timeout))

    def change(
        self,
        budget_id: str,
        *,
        limit: Decimal | str | UnsetType = UNSET,
        hard: bool | UnsetType = UNSET,
        timeout: float | None = None,
    ) -> models.BudgetOut:
        """Return one of your budgets."""
        return self._send(
            Call(
                "PATCH",
                f"/api/v1/budgets/{self._part(budget_id)}",
                models.BudgetOut,
                body={"limit": limit, "hard": hard},
                timeout=timeout,
            )
        )

    def delete(self, budget_id: str, *, timeout: float | None = None) -> None:
        """Delete a budget."""
        return self._send(Call("DELETE", f"/api/v1/budgets/{self._part(budget_id)}", type(None), timeout=timeout))
