# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `tokens`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import UNSET, UnsetType

from berth import models
from berth._core.calls import Call
from berth._sync.resource import Pager, Resource


class Tokens(Resource):
    def list(
        self, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> Pager[models.PaginatedTokenList, models.Token]:
        """List the tokens of your account, or create one.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call("GET", "/api/v1/tokens", models.PaginatedTokenList, query={"limit": limit}, timeout=timeout), models.Token
        )

    def create(
        self,
        *,
        name: str,
        scopes: Sequence[models.Scopes],
        expires_at: datetime | str | UnsetType | None = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.NewToken:
        """List the tokens of your account, or create one."""
        return self._send(
            Call(
                "POST",
                "/api/v1/tokens",
                models.NewToken,
                body={"name": name, "scopes": scopes, "expires_at": expires_at},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    def get(self, token_id: str, *, timeout: float | None = None) -> models.Token:
        """Return or revoke one token."""
        return self._send(Call("GET", f"/api/v1/tokens/{self._part(token_id)}", models.Token, timeout=timeout))

    def revoke(self, token_id: str, *, timeout: float | None = None) -> None:
        """Return or revoke one token."""
        return self._send(Call("DELETE", f"/api/v1/tokens/{self._part(token_id)}", type(None), timeout=timeout))
