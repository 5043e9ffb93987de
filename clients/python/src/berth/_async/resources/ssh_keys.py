# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `ssh_keys`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncPager, AsyncResource
from berth._core.calls import Call


class SshKeys(AsyncResource):
    def list(
        self, *, limit: int | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedKeyList, models.Key]:
        """List the SSH keys of your account, or add one.

        Args:
            limit: Rows per page
        """
        return self._pages(
            Call("GET", "/api/v1/ssh-keys", models.PaginatedKeyList, query={"limit": limit}, timeout=timeout), models.Key
        )

    async def create(
        self,
        *,
        public_key: str,
        name: str | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.Key:
        """Add an SSH key to your account.

        Also requires the scope `instances:connect`: the key gives access to every instance that accepts all
        keys of the account.

        Args:
            public_key: One line of a .pub file
        """
        return await self._send(
            Call(
                "POST",
                "/api/v1/ssh-keys",
                models.Key,
                body={"public_key": public_key, "name": name},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def get(self, key_id: str, *, timeout: float | None = None) -> models.Key:
        """Return or remove one SSH key."""
        return await self._send(Call("GET", f"/api/v1/ssh-keys/{self._part(key_id)}", models.Key, timeout=timeout))

    async def delete(self, key_id: str, *, timeout: float | None = None) -> None:
        """Return or remove one SSH key."""
        return await self._send(Call("DELETE", f"/api/v1/ssh-keys/{self._part(key_id)}", type(None), timeout=timeout))
