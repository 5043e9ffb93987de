"""What a run costs in every mode, against sums done by hand."""

from datetime import timedelta
from typing import Any

import pytest

from common import clock
from marketplace.pricing.run_costs import ModeCost, mode_costs, tiered_micros

UNIT = 1_000_000


def row(**changes: Any) -> dict[str, Any]:
    return {
        "price_micros": 2_800_000,
        "reserved_discounts": {},
        "tiers": [],
        "spot_floor_micros": None,
        "disk_micros_gb_day": 0,
        "listed_until": None,
    } | changes


def costs(hours: float | None, *, gpu_count: int = 1, data_disk_gb: int = 0, **changes: Any) -> dict[str, ModeCost]:
    found = mode_costs(row(**changes), gpu_count=gpu_count, data_disk_gb=data_disk_gb, hours=hours)
    return {cost.mode: cost for cost in found}


def test_hourly_is_charged_by_the_second() -> None:
    assert costs(1.5)["hourly"] == ModeCost("hourly", "", 2_800_000, 4_200_000)
    assert costs(1 / 3600)["hourly"].total_micros == 778  # 2.80 ÷ 3600, rounded half up


@pytest.mark.parametrize(("hours", "total"), [(720, 2_016_000_000), (1000, 2_682_400_000)])
def test_tiered_worked_examples(hours: float, total: int) -> None:
    """2.80 an hour, from 720 h 15 % off: the table of the design."""
    assert costs(hours, tiers=[[720, 1500]])["tiered"].total_micros == total


def test_tiers_in_several_steps() -> None:
    """10 h at 1, 10 h at 0.9, 5 h at 0.5."""
    assert tiered_micros(UNIT, [[10, 1000], [20, 5000]], 25 * 3600) == 21_500_000
    assert tiered_micros(UNIT, [[10, 1000], [20, 5000]], 5 * 3600) == 5_000_000
    assert tiered_micros(UNIT, [], 7 * 3600) == 7_000_000


def test_reserved_pays_the_shortest_term_that_covers_the_hours() -> None:
    discounts = {"day": 500, "week": 1000, "month": 2000}
    week = costs(30, reserved_discounts=discounts)["reserved"]
    assert (week.term, week.total_micros) == ("week", 2_520_000 * 168)
    assert costs(24, reserved_discounts=discounts)["reserved"].term == "day"
    assert "reserved" not in costs(721, reserved_discounts=discounts)
    assert costs(None, reserved_discounts=discounts)["reserved"].term == "month"
    assert costs(None, reserved_discounts={"day": 500})["reserved"].term == "day"


def test_no_term_that_the_host_does_not_stay_for() -> None:
    stays: dict[str, Any] = {
        "listed_until": clock.now() + timedelta(hours=200),
        "reserved_discounts": {"day": 500, "week": 1000, "month": 2000},
    }
    assert costs(30, **stays)["reserved"].term == "week"
    assert "reserved" not in costs(169, **stays)
    assert costs(None, **stays)["reserved"].term == "day"


def test_spot_is_the_floor_where_it_is_sold() -> None:
    assert costs(10, spot_floor_micros=500_000)["spot"].total_micros == 5_000_000
    assert "spot" not in costs(10)


def test_the_disk_above_the_free_quota_is_in_every_price() -> None:
    """2 × 2.80 for 10 h, and 100 paid GB at 0.0024 a day: 0.01 an hour."""
    found = costs(10, gpu_count=2, data_disk_gb=150, disk_micros_gb_day=2_400, spot_floor_micros=UNIT)
    assert found["hourly"] == ModeCost("hourly", "", 5_610_000, 56_100_000)
    assert found["spot"].total_micros == 20_100_000


def test_the_cheapest_comes_first() -> None:
    several = {"reserved_discounts": {"day": 500}, "tiers": [[5, 1000]], "spot_floor_micros": UNIT}
    by_total = mode_costs(row(**several), gpu_count=1, data_disk_gb=0, hours=10)
    assert [cost.mode for cost in by_total] == ["spot", "tiered", "hourly", "reserved"]
    by_hour = mode_costs(row(**several), gpu_count=1, data_disk_gb=0, hours=None)
    assert [cost.mode for cost in by_hour] == ["spot", "reserved", "hourly", "tiered"]
    assert all(cost.total_micros is None for cost in by_hour)
