"""JSON representation of the advisor's response."""

from collections.abc import Sequence
from typing import Any, Final

from common import clock
from common.money import format_money
from marketplace.advisor.explanations import Step
from marketplace.advisor.recommend import Advice, Needs
from marketplace.advisor.selectors import PlanOnMarket, Run, plans_on_market, runs_for
from marketplace.hosts.representation import offer_shape
from marketplace.pricing.run_costs import ModeCost
from marketplace.web.search.language.query_string import write_params

_RUNS: Final = 10
_PLANS: Final = 5


def advice_shape(advice: Advice) -> dict[str, Any]:
    found = runs_for(advice, limit=_RUNS)
    return {
        "steps": [_step(step) for step in advice.steps],
        "needs": _needs(advice.needs),
        "plans": [_plan(plan) for plan in plans_on_market(advice, limit=_PLANS)],
        "search": write_params(advice.query),
        "offers_total": found.total,
        "offers": [_run(run) for run in found.runs],
    }


def _needs(needs: Needs) -> dict[str, Any]:
    return {
        "vram_total_gb": needs.vram_total_gb,
        "gpu_count": needs.gpu_count,
        "vram_gb": needs.vram_gb,
        "cpu_cores": needs.cpu_cores,
        "ram_gb": needs.ram_gb,
        "disk_gb": needs.disk_gb,
        "disk_kinds": list(needs.disk_kinds),
        "disk_read_mbps": needs.disk_mbps,
        "flops": needs.flops,
        "hours": _hours(needs.hours),
    }


def _step(step: Step) -> dict[str, Any]:
    return {
        "topic": step.topic,
        "title": step.title,
        "result": step.result,
        "reason": step.reason,
        "formula": step.formula or None,
        "sources": [{"text": str(source.text), "url": source.url or None} for source in step.sources],
    }


def _plan(found: PlanOnMarket) -> dict[str, Any]:
    plan = found.plan
    return {
        "gpu_count": plan.gpu_count,
        "vram_gb": plan.vram_gb,
        "card_gb": plan.card_gb,
        "models": [fit.model.slug for fit in plan.fits],
        "hours": _hours(plan.hours),
        "search": write_params(found.query),
        "offers": found.total,
        "price_low": None if found.low_micros is None else format_money(found.low_micros),
    }


def _hours(hours: Sequence[float] | None) -> dict[str, float] | None:
    return None if hours is None else {"least": round(hours[0], 4), "most": round(hours[1], 4)}


def _run(run: Run) -> dict[str, Any]:
    hours = None if run.hours is None else round(run.hours, 4)
    speed = None if run.tokens_per_second is None else round(run.tokens_per_second, 1)
    offer, costs = offer_shape(run.offer, clock.now()), [_cost(cost) for cost in run.costs]
    return {"offer": offer, "hours": hours, "tokens_per_second": speed, "costs": costs}


def _cost(cost: ModeCost) -> dict[str, Any]:
    return {
        "mode": cost.mode,
        "term": cost.term or None,
        "hourly": format_money(cost.hourly_micros),
        "total": None if cost.total_micros is None else format_money(cost.total_micros),
    }
