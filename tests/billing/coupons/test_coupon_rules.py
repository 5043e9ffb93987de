"""Coupon arithmetic: bonuses by hand, scopes, and consumption that never makes or loses a micro-unit."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from billing.coupons.rules import Bonus, Step, bonus_micros, consume, coupon_part

UNIT = 1_000_000
AMOUNTS = st.integers(min_value=0, max_value=10**13)


@pytest.mark.parametrize(
    ("amount", "bps", "most", "bonus"),
    [
        (100 * UNIT, 2_000, None, 20 * UNIT),  # 20 % of 100
        (100 * UNIT, 2_000, 15 * UNIT, 15 * UNIT),  # capped
        (33_330_000, 1_250, None, 4_166_250),  # 12.5 % of 33.33
        (1, 5_000, None, 1),  # half of a millionth is rounded up
        (1, 4_999, None, 0),
        (100 * UNIT, 10_000, None, 100 * UNIT),
    ],
)
def test_bonus(amount: int, bps: int, most: int | None, bonus: int) -> None:
    assert bonus_micros(amount, bps, most) == bonus


@given(st.lists(AMOUNTS, max_size=6), st.integers(min_value=-(10**13), max_value=10**13))
def test_consumption_is_coupons_first_and_in_order(unused: list[int], paid: int) -> None:
    parts = consume(unused, paid)
    assert sum(parts) == min(max(0, paid), sum(unused))
    assert all(0 <= part <= amount for part, amount in zip(parts, unused, strict=True))
    for place, part in enumerate(parts[:-1]):
        assert part == unused[place] or not any(parts[place + 1 :])


def step(kind: Literal["drawn", "returned", "paid"], amount: int, inside: bool = True) -> Step:
    return Step(kind, amount, inside)


def test_the_coupon_part_of_two_months_by_hand() -> None:
    """Drawn 10 in the first month; 6 of the first hour's charges fall into it, 7 into the second: 6 and then 4."""
    first = [step("drawn", 10), step("paid", 6)]
    second = [step("paid", 7)]
    assert coupon_part(first) == 6
    assert coupon_part([*(step(s.kind, s.amount_micros, False) for s in first), *second]) == 4


def test_what_comes_back_unused_was_never_part_of_a_bill() -> None:
    assert coupon_part([step("drawn", 10), step("paid", 4), step("returned", 6)]) == 4


def test_what_is_given_back_after_use_is_taken_off() -> None:
    """The host failed: all 4 are credited; no cash had been paid, so all goes back to the coupon."""
    steps = [step("drawn", 10), step("paid", 4), step("returned", 6), step("paid", -4), step("returned", 4)]
    assert coupon_part(steps) == 0


@given(st.lists(st.tuples(st.sampled_from(["drawn", "paid"]), AMOUNTS), max_size=12), st.integers(0, 12))
def test_months_add_up_wherever_they_are_cut(events: list[tuple[Literal["drawn", "paid"], int]], cut: int) -> None:
    whole = coupon_part(step(kind, amount) for kind, amount in events)
    first = coupon_part(step(kind, amount) for kind, amount in events[:cut])
    rest = coupon_part(step(kind, amount, place >= cut) for place, (kind, amount) in enumerate(events))
    assert first + rest == whole
    assert 0 <= whole <= sum(amount for kind, amount in events if kind == "drawn")


@st.composite
def top_ups(draw: st.DrawFn) -> tuple[int, Bonus]:
    """What is kept of a top-up, and its bonus, of which a part is used."""
    bps, most = draw(st.integers(1, 10_000)), draw(st.one_of(st.none(), st.integers(0, 20_000)))
    kept = draw(st.integers(0, 100_000))
    granted = bonus_micros(kept, bps, most)
    out = granted * draw(st.integers(0, 100)) // 100
    return kept, Bonus(bps, most, granted, granted - out, out)


@given(top_ups(), st.integers(0, 100_000), st.integers(1, 100))
def test_the_most_that_is_refundable_is_paid_by_the_cash_and_one_step_more_is_not(
    top_up: tuple[int, Bonus], cash: int, step: int
) -> None:
    kept, bonus = top_up
    back = bonus.most_refundable(kept_micros=kept, cash_micros=cash, step_micros=step)
    assert back % step == 0
    assert back + bonus.to_repay(kept - back) <= cash
    more = back + step
    assert more > kept or more + bonus.to_repay(kept - more) > cash
    left = bonus.remaining + bonus.change(kept - back) + bonus.out - bonus.to_repay(kept - back)
    assert left <= bonus.due(kept - back)
