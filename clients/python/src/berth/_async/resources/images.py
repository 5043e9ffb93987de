# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `images`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncPager, AsyncResource
from berth._core.calls import Call


class Images(AsyncResource):
    def list(
        self, *, limit: int | UnsetType = UNSET, source: str | UnsetType = UNSET, timeout: float | None = None
    ) -> AsyncPager[models.PaginatedImageOutList, models.ImageOut]:
        """List images that an instance can run.

        Args:
            limit: Rows per page
            source: Default: everything you can run
        """
        return self._pages(
            Call(
                "GET",
                "/api/v1/images",
                models.PaginatedImageOutList,
                query={"limit": limit, "source": source},
                timeout=timeout,
            ),
            models.ImageOut,
        )

    async def create(
        self,
        *,
        name: str,
        title: str | UnsetType = UNSET,
        description: str | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.ImageOut:
        """Add an image by name.

        It is read from its registry and pinned by its digest.

        Args:
            name: As for docker pull: pytorch/pytorch:2.4.0
        """
        return await self._send(
            Call(
                "POST",
                "/api/v1/images",
                models.ImageOut,
                body={"name": name, "title": title, "description": description},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def get(self, image_id: str, *, timeout: float | None = None) -> models.ImageOut:
        """Return one image that you can run or own."""
        return await self._send(Call("GET", f"/api/v1/images/{self._part(image_id)}", models.ImageOut, timeout=timeout))

    async def remove(self, image_id: str, *, timeout: float | None = None) -> models.ImageOut:
        """Delete one of your images.

        Instances that run it are not affected; if it is stored on a host, it is deleted there.
        """
        return await self._send(Call("DELETE", f"/api/v1/images/{self._part(image_id)}", models.ImageOut, timeout=timeout))

    async def share(
        self,
        image_id: str,
        *,
        name: str,
        title: str | UnsetType = UNSET,
        description: str | UnsetType = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.ImageOut:
        """Share an image with everyone.

        Also requires the scope `instances:connect`, since a saved image exposes the files of its instance.

        Args:
            name: Name in the community list; reusing one of your names creates a new version
        """
        return await self._send(
            Call(
                "POST",
                f"/api/v1/images/{self._part(image_id)}/share",
                models.ImageOut,
                body={"name": name, "title": title, "description": description},
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )

    async def unshare(self, image_id: str, *, timeout: float | None = None) -> models.ImageOut:
        """Stop sharing an image, so that no one else can rent with it.

        Idempotent.
        """
        return await self._send(
            Call("DELETE", f"/api/v1/images/{self._part(image_id)}/share", models.ImageOut, timeout=timeout)
        )
