"""Responses of the advisor."""

from collections.abc import Sequence
from typing import Annotated, Final

from rest_framework import serializers

from common import clock
from common.money import format_money
from common.resources import resource
from marketplace.advisor.explanations import Step
from marketplace.advisor.recommend import Advice, Needs
from marketplace.advisor.selectors import PlanOnMarket, Run, plans_on_market, runs_for
from marketplace.hosts.offer_resources import Offer, offer_resource
from marketplace.pricing.run_costs import ModeCost
from marketplace.web.search.language.query_string import write_params

_RUNS: Final = 10
_PLANS: Final = 5


@resource
class AdviceSource:
    """Source of a formula."""

    text: str
    url: str | None


@resource
class AdviceStep:
    """One step with its reason."""

    topic: str
    title: str
    result: str
    reason: str
    formula: str | None
    sources: list[AdviceSource]


@resource
class Hours:
    """Hours on the fastest and the slowest suitable model."""

    least: float
    most: float


@resource
class AdviceNeeds:
    """`vram_total_gb` is for a single GPU; everything else is for the whole recommended plan."""

    vram_total_gb: int
    gpu_count: int
    vram_gb: Annotated[int, "Per GPU"]
    cpu_cores: int
    ram_gb: int
    disk_gb: int
    disk_kinds: list[str]
    disk_read_mbps: Annotated[int, "MB/s"]
    flops: Annotated[float, "For the whole workload; 0 if its amount is unknown"]
    hours: Hours | None


@resource
class AdvicePlan:
    """A number of GPUs that can run the workload, and the matching offers."""

    gpu_count: int
    vram_gb: int
    card_gb: Annotated[int, "Smallest sufficient GPU memory size"]
    models: Annotated[list[str], "Slugs, fastest first"]
    hours: Hours | None
    search: Annotated[str, "Parameters of GET /offers"]
    offers: int
    price_low: Annotated[str | None, "For all GPUs, per hour, disk included"]


@resource
class RunCost:
    """Cost in one billing mode; a reserved term is paid in full, and spot uses the floor price."""

    mode: str
    term: str | None
    hourly: Annotated[str, "For all GPUs, disk included"]
    total: str | None


@resource
class AdviceRun:
    """An offer that fits."""

    offer: Annotated[Offer, serializers.DictField, "As in GET /offers"]
    hours: float | None
    tokens_per_second: Annotated[float | None, "All conversations combined; for models that generate text"]
    costs: list[RunCost]


@resource
class AdviceOut:
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


def advice_resource(advice: Advice) -> AdviceOut:
    found = runs_for(advice, limit=_RUNS)
    return AdviceOut(
        steps=[_step(step) for step in advice.steps],
        needs=_needs(advice.needs),
        plans=[_plan(plan) for plan in plans_on_market(advice, limit=_PLANS)],
        search=write_params(advice.query),
        offers_total=found.total,
        offers=[_run(run) for run in found.runs],
    )


def _needs(needs: Needs) -> AdviceNeeds:
    return AdviceNeeds(
        vram_total_gb=needs.vram_total_gb,
        gpu_count=needs.gpu_count,
        vram_gb=needs.vram_gb,
        cpu_cores=needs.cpu_cores,
        ram_gb=needs.ram_gb,
        disk_gb=needs.disk_gb,
        disk_kinds=list(needs.disk_kinds),
        disk_read_mbps=needs.disk_mbps,
        flops=needs.flops,
        hours=_hours(needs.hours),
    )


def _step(step: Step) -> AdviceStep:
    return AdviceStep(
        topic=step.topic,
        title=step.title,
        result=step.result,
        reason=step.reason,
        formula=step.formula or None,
        sources=[AdviceSource(text=str(source.text), url=source.url or None) for source in step.sources],
    )


def _plan(found: PlanOnMarket) -> AdvicePlan:
    plan = found.plan
    return AdvicePlan(
        gpu_count=plan.gpu_count,
        vram_gb=plan.vram_gb,
        card_gb=plan.card_gb,
        models=[fit.model.slug for fit in plan.fits],
        hours=_hours(plan.hours),
        search=write_params(found.query),
        offers=found.total,
        price_low=None if found.low_micros is None else format_money(found.low_micros),
    )


def _hours(hours: Sequence[float] | None) -> Hours | None:
    return None if hours is None else Hours(least=round(hours[0], 4), most=round(hours[1], 4))


def _run(run: Run) -> AdviceRun:
    hours = None if run.hours is None else round(run.hours, 4)
    speed = None if run.tokens_per_second is None else round(run.tokens_per_second, 1)
    offer, costs = offer_resource(run.offer, clock.now()), [_cost(cost) for cost in run.costs]
    return AdviceRun(offer=offer, hours=hours, tokens_per_second=speed, costs=costs)


def _cost(cost: ModeCost) -> RunCost:
    return RunCost(
        mode=cost.mode,
        term=cost.term or None,
        hourly=format_money(cost.hourly_micros),
        total=None if cost.total_micros is None else format_money(cost.total_micros),
    )
