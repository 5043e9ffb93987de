"""Serializers of the catalogue's and the advisor's API."""

from collections.abc import Sequence
from typing import Any, Final

from rest_framework import serializers

from common.money import format_money
from marketplace.advisor.workload import BOUNDS, LEAST_DEADLINE_HOURS, MOST_DEADLINE_HOURS, Family, Precision, Task, Work
from marketplace.search.gpu_ranking import RANKINGS, ModelOnMarket

_DEFAULTS: Final = Work()


class ModelQuery(serializers.Serializer[Any]):
    """Order of the list."""

    sort = serializers.ChoiceField(RANKINGS, default="fp16", help_text="Best first; models without the figure last")


class ModelCuda(serializers.Serializer[Any]):
    """CUDA releases that run on the model."""

    min = serializers.CharField(allow_null=True)
    last = serializers.CharField(allow_null=True, help_text="null: all later versions too")


class ModelSources(serializers.Serializer[Any]):
    """Sources: S for rental guides that the project collected, D for vendors' data sheets (dense rates)."""

    rates = serializers.CharField(allow_null=True, help_text="Of FP32, FP16 and CUDA")
    others = serializers.CharField(allow_null=True, help_text="Of compute capability, bandwidth, power and NVLink")


class ModelMarket(serializers.Serializer[Any]):
    """Present market of the model."""

    free = serializers.IntegerField(help_text="GPUs")
    offers = serializers.IntegerField()
    price_low = serializers.CharField(allow_null=True, help_text="Per GPU and hour")
    value = serializers.FloatField(allow_null=True, help_text="TFLOPS per unit of currency and hour at that price")
    simulated = serializers.BooleanField(help_text="Only simulated GPUs are offered")


class Model(serializers.Serializer[Any]):
    """A GPU model with every figure that a source gives; lists correspond to `vram_gb`, size by size."""

    slug = serializers.CharField()
    name = serializers.CharField()
    vendor = serializers.CharField()
    series = serializers.CharField(allow_null=True)
    architecture = serializers.CharField(allow_null=True)
    compute_capability = serializers.CharField(allow_null=True)
    vram_gb = serializers.ListField(child=serializers.IntegerField())
    bandwidth_gb_s = serializers.ListField(child=serializers.IntegerField())
    fp32_tflops = serializers.FloatField(allow_null=True)
    fp16_tflops = serializers.FloatField(allow_null=True)
    fp16_approximate = serializers.BooleanField()
    cuda = ModelCuda()
    power_w = serializers.IntegerField(allow_null=True)
    nvlink_gb_s = serializers.FloatField(allow_null=True)
    tensor_cores = serializers.BooleanField()
    bf16 = serializers.BooleanField()
    fp8 = serializers.BooleanField()
    trains = serializers.BooleanField()
    note = serializers.CharField(allow_null=True)
    known = serializers.BooleanField(help_text="In the catalog")
    sources = ModelSources()
    market = ModelMarket()


class ModelList(serializers.Serializer[Any]):
    """Every model, in one page."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = Model(many=True)


def _whole(name: str, about: str) -> serializers.IntegerField:
    least, most = BOUNDS[name]
    return serializers.IntegerField(min_value=least, max_value=most, default=getattr(_DEFAULTS, name), help_text=about)


class WorkIn(serializers.Serializer[Any]):
    """The workload."""

    task = serializers.ChoiceField([task.value for task in Task], default=_DEFAULTS.task.value)
    family = serializers.ChoiceField([family.value for family in Family], default=_DEFAULTS.family.value)
    parameters = _whole("parameters", "Number of parameters, such as 7000000000")
    precision = serializers.ChoiceField([precision.value for precision in Precision], default=_DEFAULTS.precision.value)
    batch = _whole("batch", "Samples in one step over all GPUs; for inference, conversations or images at once")
    sequence = _whole("sequence", "Tokens of a sample or a conversation")
    pixels = _whole("pixels", "Side of an image")
    layers = _whole("layers", "Of a transformer; 0: estimated")
    hidden = _whole("hidden", "Width of a transformer; 0: estimated")
    kv_share = _whole("kv_share", "Per cent of the heads with keys and values of their own (grouped-query attention)")
    recompute = serializers.BooleanField(default=True, help_text="Activations are recomputed in the backward pass")
    items = _whole("items", "Tokens, or images, of one pass; 0: unknown")
    epochs = _whole("epochs", "Passes")
    dataset_gb = _whole("dataset_gb", "Size of the data set")
    deadline_hours = serializers.FloatField(
        min_value=LEAST_DEADLINE_HOURS, max_value=MOST_DEADLINE_HOURS, allow_null=True, default=None
    )


class AdviceSource(serializers.Serializer[Any]):
    """Source of a formula."""

    text = serializers.CharField()
    url = serializers.CharField(allow_null=True)


class AdviceStep(serializers.Serializer[Any]):
    """One step with its reason."""

    topic = serializers.CharField()
    title = serializers.CharField()
    result = serializers.CharField()
    reason = serializers.CharField()
    formula = serializers.CharField(allow_null=True)
    sources = AdviceSource(many=True)


class Hours(serializers.Serializer[Any]):
    """Hours on the fastest and on the slowest model that fits."""

    least = serializers.FloatField()
    most = serializers.FloatField()


class AdviceNeeds(serializers.Serializer[Any]):
    """`vram_total_gb` is what one GPU alone would need; all else is for the whole recommended plan."""

    vram_total_gb = serializers.IntegerField()
    gpu_count = serializers.IntegerField()
    vram_gb = serializers.IntegerField(help_text="Per GPU")
    cpu_cores = serializers.IntegerField()
    ram_gb = serializers.IntegerField()
    disk_gb = serializers.IntegerField()
    disk_kinds = serializers.ListField(child=serializers.CharField())
    disk_read_mbps = serializers.IntegerField(help_text="MB/s")
    flops = serializers.FloatField(help_text="For the whole workload; 0 if its amount is unknown")
    hours = Hours(allow_null=True)


class AdvicePlan(serializers.Serializer[Any]):
    """A number of GPUs that can do the work, and its present market."""

    gpu_count = serializers.IntegerField()
    vram_gb = serializers.IntegerField()
    card_gb = serializers.IntegerField(help_text="Smallest available size that is sufficient")
    models = serializers.ListField(child=serializers.CharField(), help_text="Slugs, fastest first")
    hours = Hours(allow_null=True)
    search = serializers.CharField(help_text="Parameters of GET /offers")
    offers = serializers.IntegerField()
    price_low = serializers.CharField(allow_null=True, help_text="Of all GPUs, per hour, disk included")


class RunCost(serializers.Serializer[Any]):
    """Cost in one billing mode; a reserved term is paid in full, and a spot price is the floor."""

    mode = serializers.CharField()
    term = serializers.CharField(allow_null=True)
    hourly = serializers.CharField(help_text="Of all GPUs, disk included")
    total = serializers.CharField(allow_null=True)


class AdviceRun(serializers.Serializer[Any]):
    """An offer that fits."""

    offer = serializers.DictField(help_text="As in GET /offers")
    hours = serializers.FloatField(allow_null=True)
    tokens_per_second = serializers.FloatField(
        allow_null=True, help_text="All conversations combined; for models that generate text"
    )
    costs = RunCost(many=True)


class AdviceOut(serializers.Serializer[Any]):
    """Advice.

    `search` contains the parameters of GET /offers that find matching offers; `offers` are the cheapest runs of
    these.
    """

    steps = AdviceStep(many=True)
    needs = AdviceNeeds()
    plans = AdvicePlan(many=True)
    search = serializers.CharField()
    offers_total = serializers.IntegerField()
    offers = AdviceRun(many=True)


def model_shape(one: ModelOnMarket) -> dict[str, Any]:
    model = one.model
    return {
        "slug": model.slug,
        "name": model.name,
        "vendor": model.vendor,
        "series": model.series or None,
        "architecture": model.architecture or None,
        "compute_capability": model.compute or None,
        "vram_gb": list(model.vram_gb),
        "bandwidth_gb_s": list(model.bandwidth_gbps),
        "fp32_tflops": model.fp32_tflops,
        "fp16_tflops": model.fp16_tflops,
        "fp16_approximate": model.fp16_approximate,
        "cuda": {"min": model.cuda_min or None, "last": model.cuda_last or None},
        "power_w": model.power_w,
        "nvlink_gb_s": model.nvlink_gbps,
        "tensor_cores": model.has_tensor_cores,
        "bf16": model.has_bf16,
        "fp8": model.has_fp8,
        "trains": model.trains,
        "note": str(model.note) or None,
        "known": model.known,
        "sources": {"rates": model.source or None, "others": "D" if model.compute else None},
        "market": {
            "free": one.free,
            "offers": one.offers,
            "price_low": None if one.low_micros is None else format_money(one.low_micros),
            "value": None if one.value is None else round(one.value, 2),
            "simulated": one.simulated,
        },
    }


def models_shape(models: Sequence[ModelOnMarket]) -> dict[str, Any]:
    return {"next": None, "previous": None, "results": [model_shape(one) for one in models]}
