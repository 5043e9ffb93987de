"""Reads of offers that can do a workload, with the hours and the cost of each in every billing mode."""

from dataclasses import dataclass, replace
from typing import Any, Final

from marketplace.advisor.candidate_plans import Plan
from marketplace.advisor.compute import generates_text, hours_on, tokens_per_second
from marketplace.advisor.recommend import Advice, query_of
from marketplace.gpu_catalogue.catalogue import by_slug
from marketplace.pricing.run_costs import ModeCost, mode_costs
from marketplace.search.language.fields import OfferQuery
from marketplace.search.selectors import search_offers

_COMPARED: Final = 50  # the market sorts by value at the data sheet's rate; these are sorted by the cost of the run
_MIB_PER_GIB: Final = 1024


@dataclass(frozen=True)
class Run:
    """One offer for the work, as a row of the market.

    `hours` is None where the amount of work or the model's speed is unknown. `tokens_per_second` is of all
    conversations together, and None for work that generates no text.
    """

    offer: dict[str, Any]
    hours: float | None
    tokens_per_second: float | None
    costs: tuple[ModeCost, ...]

    @property
    def hourly(self) -> ModeCost:
        return next(cost for cost in self.costs if cost.mode == "hourly")


@dataclass(frozen=True)
class Runs:
    """Offers for the work: `total` fit, and `runs` are the cheapest of them."""

    total: int
    runs: tuple[Run, ...]


@dataclass(frozen=True)
class PlanOnMarket:
    """Alternative number of GPUs, with its offers on the market and their lowest price per hour."""

    plan: Plan
    query: OfferQuery
    total: int
    low_micros: int | None


def runs_for(advice: Advice, *, limit: int) -> Runs:
    page = search_offers(replace(advice.query, limit=_COMPARED))
    runs = sorted((_run(advice, row) for row in page.offers), key=_cost)
    return Runs(page.total, tuple(runs[:limit]))


def plans_on_market(advice: Advice, *, limit: int) -> list[PlanOnMarket]:
    found = []
    for plan in advice.plans[:limit]:
        query = query_of(advice.work, plan)
        page = search_offers(replace(query, sort="price", limit=1))
        low = page.offers[0]["total_micros"] if page.offers else None
        found.append(PlanOnMarket(plan, query, page.total, low))
    return found


def _run(advice: Advice, row: dict[str, Any]) -> Run:
    query = advice.query
    size_gb = round(row["vram_mb"] / _MIB_PER_GIB)
    model = by_slug(row["gpu_model"])
    hours = hours_on(advice.work, model, count=query.gpu_count, size_gb=size_gb)
    speed = (
        tokens_per_second(advice.work, model, count=query.gpu_count, size_gb=size_gb)
        if generates_text(advice.work)
        else None
    )
    costs = mode_costs(row, gpu_count=query.gpu_count, data_disk_gb=query.data_disk_gb, hours=hours)
    return Run(row, hours, speed, costs)


def _cost(run: Run) -> tuple[bool, int, int]:
    """Return the sort key of a run: known total costs come first."""
    total = run.hourly.total_micros
    return total is None, total or 0, run.hourly.hourly_micros
