# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `saved_searches`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncResource
from berth._core.calls import Call


class SavedSearches(AsyncResource):
    async def list(self, *, timeout: float | None = None) -> models.SavedSearchPage:
        """List your saved searches, or save one."""
        return await self._send(Call("GET", "/api/v1/saved-searches", models.SavedSearchPage, timeout=timeout))

    async def create(
        self,
        *,
        name: str,
        line: str,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.SavedSearch:
        """List your saved searches, or save one.

        Args:
            line: In the search box's syntax
        """
        return await self._send(
            Call(
                "POST",
                "/api/v1/saved-searches",
                models.SavedSearch,
                body={"name": name, "line": line},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def get(self, search_id: str, *, timeout: float | None = None) -> models.SavedSearch:
        """Return, rename or delete one saved search."""
        return await self._send(
            Call("GET", f"/api/v1/saved-searches/{self._part(search_id)}", models.SavedSearch, timeout=timeout)
        )

    async def rename(
        self, search_id: str, *, name: str | UnsetType = UNSET, timeout: float | None = None
    ) -> models.SavedSearch:
        """Return, rename or delete one saved search."""
        return await self._send(
            Call(
                "PATCH",
                f"/api/v1/saved-searches/{self._part(search_id)}",
                models.SavedSearch,
                body={"name": name},
                timeout=timeout,
            )
        )

    async def delete(self, search_id: str, *, timeout: float | None = None) -> None:
        """Return, rename or delete one saved search."""
        return await self._send(
            Call("DELETE", f"/api/v1/saved-searches/{self._part(search_id)}", type(None), timeout=timeout)
        )
