# Generated from the OpenAPI document by `make client`. Do not edit.

"""Requests of `advice`."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from berth import models
from berth._async.resource import AsyncResource
from berth._core.calls import Call


class Advice(AsyncResource):
    async def create(
        self,
        *,
        task: models.Task | UnsetType = UNSET,
        family: models.Family | UnsetType = UNSET,
        parameters: int | UnsetType = UNSET,
        precision: models.Precision | UnsetType = UNSET,
        batch: int | UnsetType = UNSET,
        sequence: int | UnsetType = UNSET,
        pixels: int | UnsetType = UNSET,
        layers: int | UnsetType = UNSET,
        hidden: int | UnsetType = UNSET,
        kv_share: int | UnsetType = UNSET,
        recompute: bool | UnsetType = UNSET,
        items: int | UnsetType = UNSET,
        epochs: int | UnsetType = UNSET,
        dataset_gb: int | UnsetType = UNSET,
        deadline_hours: float | UnsetType | None = UNSET,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> models.AdviceOut:
        """Recommend GPUs, host and offers for a workload, with the reason for each step.

        Changes nothing.

        Args:
            parameters: Number of parameters, such as 7000000000
            batch: Samples per step over all GPUs; for inference, concurrent conversations or images
            sequence: Tokens per sample or conversation
            pixels: Image side length
            layers: Layers of a transformer; 0: estimated
            hidden: Width of a transformer; 0: estimated
            kv_share: Percentage of heads with their own keys and values (grouped-query attention)
            recompute: Activations are recomputed in the backward pass
            items: Tokens or images per pass; 0: unknown
            epochs: Number of passes
            dataset_gb: Size of the data set
        """
        return await self._send(
            Call(
                "POST",
                "/api/v1/advice",
                models.AdviceOut,
                body={
                    "task": task,
                    "family": family,
                    "parameters": parameters,
                    "precision": precision,
                    "batch": batch,
                    "sequence": sequence,
                    "pixels": pixels,
                    "layers": layers,
                    "hidden": hidden,
                    "kv_share": kv_share,
                    "recompute": recompute,
                    "items": items,
                    "epochs": epochs,
                    "dataset_gb": dataset_gb,
                    "deadline_hours": deadline_hours,
                },
                dry_run=dry_run,
                key=self._key(idempotency_key),
                timeout=timeout,
            )
        )
