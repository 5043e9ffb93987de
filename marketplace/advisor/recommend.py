"""Recommendation for a workload, step by step, ending in a search of the market."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from common.errors import DomainError
from marketplace.advisor.candidate_plans import COUNTS, Plan, architectures_for, best_of, plans_for
from marketplace.advisor.compute import total_flops
from marketplace.advisor.explanations import Step, steps_of
from marketplace.advisor.machine_types import Machine, machine_for
from marketplace.advisor.memory import GB, memory_of
from marketplace.advisor.workload import Workload, check_workload
from marketplace.constants import DATA_DISK_GB_MAX
from marketplace.gpu_catalogue.catalogue import MODELS, GpuModel
from marketplace.search.language.fields import Condition, OfferQuery, Op
from marketplace.search.language.options import condition, in_order

_LISTED_MODELS = 50  # the most values that a condition may have


class DiskTooLarge(DomainError):
    code = "disk_too_large"
    status = 422
    title = "No data disk is large enough"


@dataclass(frozen=True)
class Needs:
    """Needs of the work.

    `vram_total_gb` is for one GPU alone; everything else is for the recommended plan.
    """

    vram_total_gb: int
    gpu_count: int
    vram_gb: int
    cpu_cores: int
    ram_gb: int
    disk_gb: int
    disk_kinds: tuple[str, ...]
    disk_mbps: int
    flops: float
    hours: tuple[float, float] | None


@dataclass(frozen=True)
class Advice:
    """Advice for a workload.

    `query` finds offers for `plan`; `plans` are all that can do it, fewest GPUs first.
    """

    work: Workload
    steps: tuple[Step, ...]
    needs: Needs
    plan: Plan
    plans: tuple[Plan, ...]
    query: OfferQuery


def advise(work: Workload, *, models: Sequence[GpuModel] = MODELS, counts: Sequence[int] = COUNTS) -> Advice:
    """Return the advice for a workload, with reasons in the active language.

    Raises:
        InvalidInput: a figure is out of bounds or contradicts another.
        TooLarge: it fits on no number of GPUs.
        DeadlineTooShort: no plan ends by the deadline.
        DiskTooLarge: it needs more disk than a host offers.
    """
    check_workload(work)
    plans = plans_for(work, models=models, counts=counts)
    plan = best_of(plans)
    machine = machine_of(work, plan)
    if machine.disk_gb > DATA_DISK_GB_MAX:
        detail = f"It needs {machine.disk_gb} GB; the most is {DATA_DISK_GB_MAX} GB. Keep cold data in object storage."
        raise DiskTooLarge(detail, disk_gb=machine.disk_gb, most_gb=DATA_DISK_GB_MAX)
    needs = _needs(work, plan, machine)
    return Advice(work, steps_of(work, plan, machine), needs, plan, tuple(plans), query_of(work, plan))


def machine_of(work: Workload, plan: Plan) -> Machine:
    """Return the host that keeps the plan's GPUs busy.

    It is fast enough for the deadline, or else for the fastest model.
    """
    quickest = plan.hours[0] if plan.hours else None
    return machine_for(work, gpu_count=plan.gpu_count, card_gb=plan.card_gb, hours=work.deadline_hours or quickest)


def query_of(work: Workload, plan: Plan) -> OfferQuery:
    """Return the search for offers that can do the work.

    With a known amount of work, the cheapest run comes first, else the cheapest hour.
    """
    machine = machine_of(work, plan)
    conditions = [
        _at_least("vram", plan.vram_gb),
        _at_least("cpu", machine.cpu_cores),
        _at_least("ram", machine.ram_gb),
        _at_least("disk_free", machine.disk_gb),
        condition("architecture", Op.IN, architectures_for(work.precision)),
    ]
    if len(machine.disk_kinds) < len(("hdd", "ssd", "nvme")):
        conditions.append(condition("disk", Op.IN, machine.disk_kinds))
    if work.deadline_hours is not None:
        conditions.append(condition("gpu", Op.IN, [fit.model.slug for fit in plan.fits[:_LISTED_MODELS]]))
    query = OfferQuery(gpu_count=plan.gpu_count, data_disk_gb=min(machine.disk_gb, DATA_DISK_GB_MAX))
    return replace(query, conditions=in_order(conditions), sort="-value" if work.items else "price")


def _at_least(term: str, value: int) -> Condition:
    return condition(term, Op.GE, [Decimal(value)])


def _needs(work: Workload, plan: Plan, machine: Machine) -> Needs:
    return Needs(
        vram_total_gb=math.ceil(memory_of(work).total / GB),
        gpu_count=plan.gpu_count,
        vram_gb=plan.vram_gb,
        cpu_cores=machine.cpu_cores * plan.gpu_count,
        ram_gb=machine.ram_gb * plan.gpu_count,
        disk_gb=machine.disk_gb,
        disk_kinds=machine.disk_kinds,
        disk_mbps=machine.disk_mbps,
        flops=total_flops(work),
        hours=plan.hours,
    )
