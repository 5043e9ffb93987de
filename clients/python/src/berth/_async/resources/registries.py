# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `registries`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncPager, AsyncResource
from berth._core.calls import Call


class Registries(AsyncResource):
    def list(
        self, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedRegistryOutList, models.RegistryOut]:
        """List saved logins for private registries.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call("GET", "/api/v1/registries", models.PaginatedRegistryOutList, query={"limit": limit}, timeout=timeout),
            models.RegistryOut,
        )

    async def create(
        self,
        *,
        host: str,
        username: str,
        password: str,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.RegistryOut:
        """Test a registry login and save it.

        Replaces an existing login for the same registry.

        Args:
            host: For example, registry.example.com, or docker.io for Docker Hub
            password: Password or access token. Stored encrypted
        """
        return await self._send(
            Call(
                "POST",
                "/api/v1/registries",
                models.RegistryOut,
                body={"host": host, "username": username, "password": password},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def remove(self, registry_id: str, *, timeout: float | None = None) -> None:
        """Delete a saved login.

        Its images can't be used for new rentals until you save a login again.
        """
        return await self._send(Call("DELETE", f"/api/v1/registries/{self._part(registry_id)}", type(None), timeout=timeout))
