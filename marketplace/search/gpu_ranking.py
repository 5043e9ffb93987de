"""Present market price of each GPU model, in one query, and models ranked by speed and by value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, Min, Q, Sum

from marketplace.gpu_catalogue.catalogue import MODELS, GpuModel, by_slug
from marketplace.models import Offer

RANKINGS: Final = ("fp16", "fp32", "value", "price", "vram", "bandwidth", "name")
_RISING: Final = frozenset({"price"})
_MICROS: Final = 1_000_000


@dataclass(frozen=True)
class ModelOnMarket:
    """A model with its open offers: free GPUs, and the lowest price per GPU-hour.

    Real GPUs come before simulated ones. `value` is TFLOPS per unit of money and hour at that price.
    """

    model: GpuModel
    free: int = 0
    offers: int = 0
    low_micros: int | None = None
    simulated: bool = False

    @property
    def value(self) -> float | None:
        rate = self.model.tflops
        return rate * _MICROS / self.low_micros if rate and self.low_micros else None


def models_on_market() -> dict[str, ModelOnMarket]:
    """Return every model of the catalogue and every offered model, by slug."""
    sums = {
        f"{name}_{kind}": aggregate
        for kind, only in (("real", Q(simulated=False)), ("simulated", Q(simulated=True)))
        for name, aggregate in (
            ("free", Sum("gpu_free", filter=only)),
            ("offers", Count("pk", filter=only)),
            ("low", Min("price_micros", filter=only)),
        )
    }
    rows = Offer.objects.filter(gpu_free__gt=0).order_by().values("gpu_model").annotate(**sums)
    sold = {row["gpu_model"]: _sold(row) for row in rows}
    return {model.slug: ModelOnMarket(model) for model in MODELS} | sold


def ranked(order: str = "fp16", models: Sequence[ModelOnMarket] | None = None) -> list[ModelOnMarket]:
    """Return models in `order`, one of RANKINGS, best first.

    Ties, and models without the figure (last), are ordered by speed and name.
    """
    listed = list(models_on_market().values()) if models is None else list(models)
    listed.sort(key=lambda one: (-(one.model.tflops or 0.0), one.model.name))
    if order == "name":
        return sorted(listed, key=lambda one: one.model.name)
    known = [(figure, one) for one in listed if (figure := _figure(one, order)) is not None]
    known.sort(key=lambda pair: pair[0], reverse=order not in _RISING)
    return [one for _of, one in known] + [one for one in listed if _figure(one, order) is None]


def model_on_market(slug: str) -> ModelOnMarket | None:
    """Return one model, or None where neither the catalogue nor an offer knows it."""
    return models_on_market().get(slug)


def _sold(row: Mapping[str, Any]) -> ModelOnMarket:
    kind = "real" if row["offers_real"] else "simulated"
    return ModelOnMarket(
        by_slug(row["gpu_model"]),
        free=row[f"free_{kind}"] or 0,
        offers=row[f"offers_{kind}"],
        low_micros=row[f"low_{kind}"],
        simulated=kind == "simulated",
    )


def _figure(one: ModelOnMarket, order: str) -> float | None:
    model = one.model
    figures: dict[str, float | None] = {
        "fp16": model.fp16_tflops,
        "fp32": model.fp32_tflops,
        "value": one.value,
        "price": one.low_micros,
        "vram": max(model.vram_gb, default=None),
        "bandwidth": max(model.bandwidth_gbps, default=None),
    }
    return figures[order]
