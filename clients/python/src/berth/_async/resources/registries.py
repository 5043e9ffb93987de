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
        """Saved logins for private registries.

        Args:
            limit: Rows in a page
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
        """Save a login after checking it with the registry.

        It replaces an earlier one for the same registry.

        Args:
            host: Such as registry.example.com; docker.io: Docker Hub
            password: Or an access token. Kept encrypted
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

        Its images cannot be rented with until you save a login again.
        """
        return await self._send(Call("DELETE", f"/api/v1/registries/{self._part(registry_id)}", type(None), timeout=timeout))
