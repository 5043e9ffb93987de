# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct


class AdviceNeeds(Struct, frozen=True, kw_only=True):
    """`vram_total_gb` is for a single GPU; everything else is for the whole recommended plan.

    Attributes:
        vram_gb: Per GPU
        disk_read_mbps: MB/s
        flops: For the whole workload; 0 if its amount is unknown
    """

    vram_total_gb: int
    gpu_count: int
    vram_gb: int
    cpu_cores: int
    ram_gb: int
    disk_gb: int
    disk_kinds: list[str]
    disk_read_mbps: int
    flops: float
    hours: Hours | None


class AdviceOut(Struct, frozen=True, kw_only=True):
    """Recommendation for a workload.

    `search` contains the parameters of GET /offers that find matching offers; `offers` are the cheapest of
    these.
    """

    steps: list[AdviceStep]
    needs: AdviceNeeds
    plans: list[AdvicePlan]
    search: str
    offers_total: int
    offers: list[AdviceRun]


class AdvicePlan(Struct, frozen=True, kw_only=True):
    """A number of GPUs that can run the workload, and the matching offers.

    Attributes:
        card_gb: Smallest sufficient GPU memory size
        models: Slugs, fastest first
        search: Parameters of GET /offers
        price_low: For all GPUs, per hour, disk included
    """

    gpu_count: int
    vram_gb: int
    card_gb: int
    models: list[str]
    hours: Hours | None
    search: str
    offers: int
    price_low: str | None


class AdviceRun(Struct, frozen=True, kw_only=True):
    """An offer that fits.

    Attributes:
        offer: As in GET /offers
        tokens_per_second: All conversations combined; for models that generate text
    """

    offer: dict[str, Any]
    hours: float | None
    tokens_per_second: float | None
    costs: list[RunCost]


class AdviceSource(Struct, frozen=True, kw_only=True):
    """Source of a formula."""

    text: str
    url: str | None


class AdviceStep(Struct, frozen=True, kw_only=True):
    """One step with its reason."""

    topic: str
    title: str
    result: str
    reason: str
    formula: str | None
    sources: list[AdviceSource]


Family = Literal["language", "encoder", "vision", "diffusion"] | str


class Hours(Struct, frozen=True, kw_only=True):
    """Hours on the fastest and the slowest suitable model."""

    least: float
    most: float


Precision = Literal["fp32", "fp16", "int8", "int4"] | str


class RunCost(Struct, frozen=True, kw_only=True):
    """Cost in one billing mode; a reserved term is paid in full, and spot uses the floor price.

    Attributes:
        hourly: For all GPUs, disk included
    """

    mode: str
    term: str | None
    hourly: str
    total: str | None


Task = Literal["train", "finetune", "lora", "infer"] | str
