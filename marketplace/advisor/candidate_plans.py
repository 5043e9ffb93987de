"""Candidate plans: numbers and models of GPUs that a workload fits on, and how long each would take."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from common.errors import DomainError
from marketplace.advisor.compute import hours_on
from marketplace.advisor.memory import GB, Memory, memory_of
from marketplace.advisor.workload import Precision, Workload
from marketplace.gpu_catalogue.catalogue import MODELS, GpuModel

COUNTS: Final = (1, 2, 4, 8, 16)
ORDINARY_GB: Final = 80  # plans on GPUs up to this size are preferred: larger ones are rare
# First architectures on which present frameworks run a precision well, slow to fast.
ARCHITECTURES: Final = ("Pascal", "Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell")
_FIRST: Final = {
    Precision.FP32: "Pascal",
    Precision.FP16: "Volta",
    Precision.INT8: "Turing",
    Precision.INT4: "Turing",
}


class TooLarge(DomainError):
    code = "too_large"
    status = 422
    title = "No single host has enough GPU memory for this workload"


class DeadlineTooShort(DomainError):
    code = "deadline_too_short"
    status = 422
    title = "No single host can finish this workload in time"


@dataclass(frozen=True)
class ModelFit:
    """A GPU model that the work fits on, at one memory size; `hours` is None where unknown."""

    model: GpuModel
    size_gb: int
    hours: float | None


@dataclass(frozen=True)
class Plan:
    """A number of GPUs with `vram_gb` free on each.

    `card_gb` is the smallest size sold with it; the fastest fit is first.
    """

    gpu_count: int
    vram_gb: int
    card_gb: int
    fits: tuple[ModelFit, ...]

    @cached_property
    def hours(self) -> tuple[float, float] | None:
        """Return the hours on the fastest and on the slowest model."""
        known = [fit.hours for fit in self.fits if fit.hours is not None]
        return (min(known), max(known)) if known else None

    @property
    def is_ordinary(self) -> bool:
        return any(fit.size_gb <= ORDINARY_GB for fit in self.fits)


def architectures_for(precision: Precision) -> tuple[str, ...]:
    return ARCHITECTURES[ARCHITECTURES.index(_FIRST[precision]) :]


def plans_for(work: Workload, *, models: Sequence[GpuModel] = MODELS, counts: Sequence[int] = COUNTS) -> list[Plan]:
    """Return a plan for every number of GPUs that can do the work, fewest first.

    Raises:
        TooLarge: it fits on no number of GPUs.
        DeadlineTooShort: no plan ends by the deadline.
    """
    memory, supported = memory_of(work), [model for model in models if _is_supported(work, model)]
    roomy = [plan for count in counts if (plan := _plan(work, memory, count, supported)) is not None]
    if not roomy:
        raise _too_large(memory, supported, counts)
    if work.deadline_hours is None:
        return roomy
    timely = [plan for plan in (_in_time(plan, work.deadline_hours) for plan in roomy) if plan.fits]
    if not timely:
        raise _too_late(work, roomy)
    return timely


def best_of(plans: Sequence[Plan]) -> Plan:
    """Return the plan with the fewest GPUs of a common size, else the one with the fewest."""
    return next((plan for plan in plans if plan.is_ordinary), plans[0])


def _is_supported(work: Workload, model: GpuModel) -> bool:
    if model.vendor != "NVIDIA" or (work.trains and not model.trains):
        return False
    return model.architecture in architectures_for(work.precision)


def _plan(work: Workload, memory: Memory, count: int, models: Sequence[GpuModel]) -> Plan | None:
    needed = math.ceil(memory.per_gpu(count) / GB)
    fits = []
    for model in models:
        size = min((size for size in model.vram_gb if size >= needed), default=None)
        if size is not None:
            fits.append(ModelFit(model, size, hours_on(work, model, count=count, size_gb=size)))
    if not fits:
        return None
    fits.sort(key=lambda fit: (fit.hours is None, fit.hours or 0.0, -(fit.model.tflops or 0.0)))
    return Plan(count, needed, min(fit.size_gb for fit in fits), tuple(fits))


def _in_time(plan: Plan, deadline: float) -> Plan:
    timely = tuple(fit for fit in plan.fits if fit.hours is not None and fit.hours <= deadline)
    return Plan(plan.gpu_count, plan.vram_gb, plan.card_gb, timely)


def _too_large(memory: Memory, models: Sequence[GpuModel], counts: Sequence[int]) -> TooLarge:
    largest = max((size for model in models for size in model.vram_gb), default=0)
    needed, most = math.ceil(memory.per_gpu(max(counts)) / GB), max(counts)
    detail = (
        f"Even over {most} GPUs each needs {needed} GB, and the largest has {largest} GB. "
        "Choose a smaller model or batch, a lower precision, LoRA instead of full fine-tuning, or several hosts."
    )
    return TooLarge(detail, vram_total_gb=math.ceil(memory.total / GB), vram_gb=needed, largest_gb=largest, gpu_count=most)


def _too_late(work: Workload, plans: Sequence[Plan]) -> DeadlineTooShort:
    quickest = min(plans, key=lambda plan: plan.hours[0] if plan.hours else math.inf)
    if quickest.hours is None:
        return DeadlineTooShort("The speed of the GPUs that have the memory is not known.", least_hours=None)
    least, fastest = quickest.hours[0], quickest.fits[0].model
    detail = (
        f"The fastest choice, {quickest.gpu_count} × {fastest.name}, needs about {least:.3g} h; "
        f"{work.deadline_hours:g} h are asked for. Allow more time, or process less."
    )
    return DeadlineTooShort(detail, least_hours=round(least, 4), gpu_count=quickest.gpu_count, gpu_model=fastest.slug)


def wants_nvlink(work: Workload, count: int) -> bool:
    """Return whether the GPUs exchange so much (gradients or layer slices) that PCIe would slow them down."""
    return count > 1 and work.parameters >= GB
