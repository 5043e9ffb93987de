# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `gpu_models`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncResource
from berth._core.calls import Call


class GpuModels(AsyncResource):
    async def list(self, *, sort: str | UnsetType = UNSET, timeout: float | None = None) -> models.ModelList:
        """List every GPU model in the catalog, with sources and current prices.

        Args:
            sort: Best first; models without the figure last
        """
        return await self._send(Call("GET", "/api/v1/gpu-models", models.ModelList, query={"sort": sort}, timeout=timeout))

    async def get(self, gpu_slug: str, *, timeout: float | None = None) -> models.Model:
        """Return one GPU model."""
        return await self._send(Call("GET", f"/api/v1/gpu-models/{self._part(gpu_slug)}", models.Model, timeout=timeout))
