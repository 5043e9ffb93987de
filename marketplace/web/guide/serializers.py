"""Serializers of the catalogue's and the advisor's API."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

from rest_framework import serializers

from common.money import format_money
from common.resources import resource
from marketplace.advisor.workload import BOUNDS, LEAST_DEADLINE_HOURS, MOST_DEADLINE_HOURS, Family, Precision, Task, Workload
from marketplace.search.gpu_ranking import RANKINGS, ModelOnMarket

_DEFAULTS: Final = Workload()


class ModelQuery(serializers.Serializer[Any]):
    """Order of the list."""

    sort = serializers.ChoiceField(RANKINGS, default="fp16", help_text="Best first; models without the figure last")


@resource
class ModelCuda:
    """CUDA releases that run on the model."""

    min: str | None
    last: Annotated[str | None, "null: all later versions as well"]


@resource
class ModelSources:
    """Sources: S for rental guides, D for vendors' data sheets (dense rates)."""

    rates: Annotated[str | None, "Of FP32, FP16 and CUDA"]
    others: Annotated[str | None, "Of compute capability, bandwidth, power and NVLink"]


@resource
class ModelMarket:
    """Current market of the model."""

    free: Annotated[int, "GPUs"]
    offers: int
    price_low: Annotated[str | None, "Per GPU and hour"]
    value: Annotated[float | None, "TFLOPS per unit of currency and hour at that price"]
    simulated: Annotated[bool, "Only simulated GPUs are offered"]


@resource
class Model:
    """A GPU model with all its sourced figures; lists correspond to the sizes in `vram_gb`."""

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
    known: Annotated[bool, "In the catalog"]
    sources: ModelSources
    market: ModelMarket


@resource
class ModelList:
    """Every model, in one page."""

    next: str | None
    previous: str | None
    results: list[Model]


def _whole(name: str, about: str) -> serializers.IntegerField:
    least, most = BOUNDS[name]
    return serializers.IntegerField(min_value=least, max_value=most, default=getattr(_DEFAULTS, name), help_text=about)


class WorkIn(serializers.Serializer[Any]):
    """The workload."""

    task = serializers.ChoiceField([task.value for task in Task], default=_DEFAULTS.task.value)
    family = serializers.ChoiceField([family.value for family in Family], default=_DEFAULTS.family.value)
    parameters = _whole("parameters", "Number of parameters, such as 7000000000")
    precision = serializers.ChoiceField([precision.value for precision in Precision], default=_DEFAULTS.precision.value)
    batch = _whole("batch", "Samples per step over all GPUs; for inference, concurrent conversations or images")
    sequence = _whole("sequence", "Tokens per sample or conversation")
    pixels = _whole("pixels", "Image side length")
    layers = _whole("layers", "Layers of a transformer; 0: estimated")
    hidden = _whole("hidden", "Width of a transformer; 0: estimated")
    kv_share = _whole("kv_share", "Percentage of heads with their own keys and values (grouped-query attention)")
    recompute = serializers.BooleanField(default=True, help_text="Activations are recomputed in the backward pass")
    items = _whole("items", "Tokens or images per pass; 0: unknown")
    epochs = _whole("epochs", "Number of passes")
    dataset_gb = _whole("dataset_gb", "Size of the data set")
    deadline_hours = serializers.FloatField(
        min_value=LEAST_DEADLINE_HOURS, max_value=MOST_DEADLINE_HOURS, allow_null=True, default=None
    )


def model_resource(one: ModelOnMarket) -> Model:
    model = one.model
    return Model(
        slug=model.slug,
        name=model.name,
        vendor=model.vendor,
        series=model.series or None,
        architecture=model.architecture or None,
        compute_capability=model.compute or None,
        vram_gb=list(model.vram_gb),
        bandwidth_gb_s=list(model.bandwidth_gbps),
        fp32_tflops=model.fp32_tflops,
        fp16_tflops=model.fp16_tflops,
        fp16_approximate=model.fp16_approximate,
        cuda=ModelCuda(min=model.cuda_min or None, last=model.cuda_last or None),
        power_w=model.power_w,
        nvlink_gb_s=model.nvlink_gbps,
        tensor_cores=model.has_tensor_cores,
        bf16=model.has_bf16,
        fp8=model.has_fp8,
        trains=model.trains,
        note=str(model.note) or None,
        known=model.known,
        sources=ModelSources(rates=model.source or None, others="D" if model.compute else None),
        market=ModelMarket(
            free=one.free,
            offers=one.offers,
            price_low=None if one.low_micros is None else format_money(one.low_micros),
            value=None if one.value is None else round(one.value, 2),
            simulated=one.simulated,
        ),
    )


def models_resource(models: Sequence[ModelOnMarket]) -> ModelList:
    return ModelList(next=None, previous=None, results=[model_resource(one) for one in models])
