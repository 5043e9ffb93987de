# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `me`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncResource
from berth._core.calls import Call


class Me(AsyncResource):
    async def get(self, *, timeout: float | None = None) -> models.Profile:
        """Return or change the profile that the token or session belongs to."""
        return await self._send(Call("GET", "/api/v1/me", models.Profile, timeout=timeout))

    async def update(
        self, *, display_name: str | UnsetType = UNSET, is_host_owner: bool | UnsetType = UNSET, timeout: float | None = None
    ) -> models.Profile:
        """Return or change the profile that the token or session belongs to.

        Args:
            is_host_owner: true: shows the host panel
        """
        return await self._send(
            Call(
                "PATCH",
                "/api/v1/me",
                models.Profile,
                body={"display_name": display_name, "is_host_owner": is_host_owner},
                timeout=timeout,
            )
        )
