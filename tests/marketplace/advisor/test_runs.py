"""Offers for an advised work: those that fit, with hours and costs."""

from dataclasses import replace

import pytest

from accounts.models import User
from marketplace.advisor.recommend import advise
from marketplace.advisor.selectors import plans_on_market, runs_for
from marketplace.advisor.workload import PRESETS, Workload
from marketplace.models import Offer
from marketplace.search.index.snapshot import reset_snapshot
from tests.marketplace.shapes import enrolled, gpu

WORK = replace(PRESETS["qlora-7b"], items=20_000_000)


@pytest.fixture(autouse=True)
def no_old_columns() -> None:
    reset_snapshot()


@pytest.fixture
def market(hana: User) -> None:
    enrolled(hana, 2, name="quick", price=1_000_000)  # RTX 4090: 165 TFLOPS
    enrolled(hana, [gpu(name="NVIDIA GeForce RTX 3090", vram_mb=24_576)], name="slow", price=600_000)  # ~71
    enrolled(hana, [gpu(name="NVIDIA GeForce RTX 3070", vram_mb=8_192)], name="small", price=100_000)
    enrolled(hana, [gpu(name="Tesla K80", vram_mb=11_441)], name="old", price=10_000)
    enrolled(hana, [gpu(name="NVIDIA GeForce RTX 4090")], name="starved", price=10_000, ram_mb=8_192)
    Offer.objects.filter(host__name="quick").update(spot_floor_micros=200_000, reserved_discounts={"week": 1000})


def test_only_what_fits_is_found_and_the_cheapest_run_comes_first(market: None) -> None:
    found = runs_for(advise(WORK), limit=8)
    assert [run.offer["host_name"] for run in found.runs] == ["quick", "slow"]
    assert found.total == 2
    quick, slow = found.runs
    assert quick.hours
    assert slow.hours
    assert quick.hours < slow.hours
    assert (quick.hourly.total_micros or 0) < (slow.hourly.total_micros or 0)


def test_costs_are_in_every_mode_that_the_offer_sells(market: None) -> None:
    quick = runs_for(advise(WORK), limit=1).runs[0]
    assert {cost.mode for cost in quick.costs} == {"hourly", "tiered", "reserved", "spot"}
    assert quick.costs[0].mode == "spot"


def test_without_an_amount_the_cheapest_hour_comes_first(market: None) -> None:
    found = runs_for(advise(replace(WORK, items=0)), limit=8)
    assert [run.offer["host_name"] for run in found.runs] == ["slow", "quick"]
    assert all(run.hours is None for run in found.runs)


def test_each_plan_has_its_market(market: None) -> None:
    plans = plans_on_market(advise(WORK), limit=3)
    assert [(each.plan.gpu_count, each.total, each.low_micros) for each in plans][:2] == [(1, 2, 600_000), (2, 1, 2_000_000)]
    assert plans[2].total == 0
    assert plans[2].low_micros is None


@pytest.mark.django_db
def test_an_empty_market_finds_nothing() -> None:
    found = runs_for(advise(Workload()), limit=8)
    assert (found.total, found.runs) == (0, ())
