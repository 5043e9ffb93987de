# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from msgspec import Struct


class Model(Struct, frozen=True, kw_only=True):
    """A GPU model with all its sourced figures; lists correspond to the sizes in `vram_gb`.

    Attributes:
        known: In the catalog
    """

    slug: str
    name: str
    vendor: str
    series: str | None
    architecture: str | None
    compute_capability: str | None
    vram_gb: list[int]
    bandwidth_gb_s: list[int]
    fp32_tflops: float | None
    fp16_tflops: float | None
    fp16_approximate: bool
    cuda: ModelCuda
    power_w: int | None
    nvlink_gb_s: float | None
    tensor_cores: bool
    bf16: bool
    fp8: bool
    trains: bool
    note: str | None
    known: bool
    sources: ModelSources
    market: ModelMarket


class ModelCuda(Struct, frozen=True, kw_only=True):
    """CUDA releases that run on the model.

    Attributes:
        last: null: all later versions as well
    """

    min: str | None
    last: str | None


class ModelList(Struct, frozen=True, kw_only=True):
    """Every model, in one page."""

    next: str | None
    previous: str | None
    results: list[Model]


class ModelMarket(Struct, frozen=True, kw_only=True):
    """Current market of the model.

    Attributes:
        free: GPUs
        price_low: Per GPU and hour
        value: TFLOPS per unit of currency and hour at that price
        simulated: Only simulated GPUs are offered
    """

    free: int
    offers: int
    price_low: str | None
    value: float | None
    simulated: bool


class ModelSources(Struct, frozen=True, kw_only=True):
    """Sources: S for rental guides, D for vendors' data sheets (dense rates).

    Attributes:
        rates: Of FP32, FP16 and CUDA
        others: Of compute capability, bandwidth, power and NVLink
    """

    rates: str | None
    others: str | None
