"""The calculator against an oracle of exact fractions, and the worked examples of the specification."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from billing.pricing.break_even import crossings
from billing.pricing.estimates import (
    HOURLY,
    MODES,
    RESERVED,
    SPOT,
    TIERED,
    Plan,
    Step,
    Work,
    cost_at,
    discounted_micros,
    estimate,
    round_half_up,
    spot_plan,
)
from common.errors import InvalidInput
from common.money import parse_money

PRICES = st.integers(0, 50_000_000)
HOURS = st.fractions(min_value=0, max_value=30_000, max_denominator=1_000_000)
FACTORS = st.fractions(min_value=0, max_value=10, max_denominator=1000)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    mode, unit = draw(st.sampled_from(MODES)), draw(PRICES)
    if mode == TIERED:
        starts = sorted(draw(st.sets(st.integers(1, 20_000), max_size=5)))
        return Plan(TIERED, unit, tuple(Step(Fraction(start), draw(PRICES)) for start in starts))
    if mode == RESERVED and draw(st.booleans()):
        payment = draw(st.sampled_from(["upfront", "none"]))
        return Plan(RESERVED, unit, (), draw(st.sampled_from([24, 168, 720, 8760])), payment, draw(PRICES))
    return Plan(mode, unit)


def oracle_hours(plan: Plan, hours: Fraction) -> Fraction:
    """What one GPU costs: the price of each hour looked up by itself, the last one in part."""
    if plan.mode == RESERVED and plan.term_hours is not None:
        charged = Fraction(plan.term_hours)
        if plan.payment != "upfront":
            charged = min(hours, charged)
        assert plan.after_micros is not None
        return charged * plan.unit_micros + max(Fraction(0), hours - plan.term_hours) * plan.after_micros
    marks = sorted({Fraction(0), hours, *(step.from_hours for step in plan.steps if step.from_hours < hours)})
    total = Fraction(0)
    for start, end in pairwise(marks):
        passed = [step.unit_micros for step in plan.steps if step.from_hours <= start]
        total += (end - start) * (passed[-1] if passed else plan.unit_micros)
    return total


def half_up(value: Fraction) -> int:
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


@given(plan=plans(), hours=HOURS, gpus=st.integers(1, 64), storage=PRICES, factor=FACTORS)
def test_totals_are_exact_and_lines_add_up(plan: Plan, hours: Fraction, gpus: int, storage: int, factor: Fraction) -> None:
    found = estimate(plan, Work(hours, gpus, storage, factor))
    exact = (oracle_hours(plan, hours) * gpus + storage) * factor
    assert found.total_micros == half_up(exact)
    assert sum(line.amount_micros for line in found.lines) == found.total_micros
    for line in found.lines:
        assert abs(line.amount_micros - line.quantity * line.unit_micros) <= 1 + abs(line.quantity)


@given(plan=plans(), hours=HOURS, gpus=st.integers(1, 64))
def test_whole_prices_and_hours_need_no_rounding(plan: Plan, hours: Fraction, gpus: int) -> None:
    found = estimate(plan, Work(Fraction(int(hours)), gpus))
    assert all(line.amount_micros == line.quantity * line.unit_micros for line in found.lines)


@given(value=st.fractions(min_value=0, max_denominator=10_000))
def test_rounding_is_half_up(value: Fraction) -> None:
    assert round_half_up(value) == half_up(value)


@pytest.mark.parametrize(
    ("plan", "work", "total"),
    [
        (Plan(HOURLY, 3_060_000), Work(Fraction(8760)), "26805.60"),
        (Plan(RESERVED, 1_380_000), Work(Fraction(8760)), "12088.80"),
        (
            Plan(RESERVED, discounted_micros(3_060_000, Fraction(58, 100)), (), 26_280, "none"),
            Work(Fraction(8760)),
            "11258.352",
        ),
        (Plan(TIERED, 2_800_000, (Step(Fraction(720), 2_380_000),)), Work(Fraction(720)), "2016.00"),
        (Plan(TIERED, 2_800_000, (Step(Fraction(720), 2_380_000),)), Work(Fraction(1000)), "2682.40"),
        (Plan(HOURLY, 460_000), Work(Fraction(100), 8, 50_000_000, Fraction(115, 100)), "480.70"),
    ],
)
def test_worked_examples(plan: Plan, work: Work, total: str) -> None:
    assert estimate(plan, work).total_micros == parse_money(total)


def test_a_reserved_term_is_owed_whole() -> None:
    upfront, monthly = (Plan(RESERVED, 2, (), 720, payment, 3) for payment in ("upfront", "none"))
    half = Work(Fraction(360), 4)
    assert (estimate(upfront, half).total_micros, estimate(upfront, half).commitment_micros) == (2 * 720 * 4, 2 * 720 * 4)
    assert (estimate(monthly, half).total_micros, estimate(monthly, half).commitment_micros) == (2 * 360 * 4, 2 * 720 * 4)
    longer = estimate(upfront, Work(Fraction(1000)))
    assert [(line.item, line.amount_micros) for line in longer.lines] == [(RESERVED, 1440), (HOURLY, 840)]
    assert estimate(Plan(HOURLY, 1), half).commitment_micros is None


def test_a_discounted_price_is_whole_micro_units() -> None:
    assert discounted_micros(1, Fraction(1, 2)) == 1
    assert discounted_micros(3_333_333, Fraction(1, 3)) == 2_222_222


def test_spot_runs_between_floor_and_maximum() -> None:
    assert spot_plan(market_micros=5, floor_micros=5, max_micros=5) == Plan(SPOT, 5)
    for market, floor, most in ((4, 5, 9), (10, 5, 9), (5, 5, 4)):
        with pytest.raises(InvalidInput):
            spot_plan(market_micros=market, floor_micros=floor, max_micros=most)


# -- break-even


def test_known_crossings() -> None:
    known = {
        HOURLY: Plan(HOURLY, 1_000_000),
        RESERVED: Plan(RESERVED, 600_000, (), 720, "upfront", 1_000_000),
        TIERED: Plan(TIERED, 1_000_000, (Step(Fraction(100), 500_000),)),
        SPOT: Plan(SPOT, 400_000),
    }
    found = {(each.cheaper, each.dearer): each.hours for each in crossings(known, Fraction(2000))}
    # Tiered and hourly cost the same until the step; 432 is the whole term; spot is cheapest throughout; at no time has
    # the term caught up with the tiers.
    assert found == {(TIERED, HOURLY): 100, (RESERVED, HOURLY): 432}


@given(one=plans(), other=plans(), hours=st.integers(1, 30_000))
def test_the_cheaper_one_changes_at_crossings_alone(one: Plan, other: Plan, hours: int) -> None:
    """Whoever is cheaper at any hour is who the crossings so far say."""
    by_name = {"a": one, "b": other}
    until = Fraction(30_001)
    found = crossings(by_name, until)
    assert [each.hours for each in found] == sorted(each.hours for each in found)
    assert all(0 < each.hours < until for each in found)
    for each in found:
        assert cost_at(one, each.hours) == cost_at(other, each.hours)
    gap = cost_at(one, Fraction(hours)) - cost_at(other, Fraction(hours))
    passed = [each for each in found if each.hours < hours]
    if gap and passed:
        assert passed[-1].cheaper == ("a" if gap < 0 else "b")
    elif gap:
        later = [each for each in found if each.hours >= hours]
        assert not later or later[0].dearer == ("a" if gap < 0 else "b")
