# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `search_terms`."""

from __future__ import annotations

from berth import models
from berth._async.resource import AsyncResource
from berth._core.calls import Call


class SearchTerms(AsyncResource):
    async def get(self, *, timeout: float | None = None) -> models.SearchTerms:
        """Return the grammar of the search box: every term with its operators, parameters, units and choices."""
        return await self._send(Call("GET", "/api/v1/search-terms", models.SearchTerms, timeout=timeout))
