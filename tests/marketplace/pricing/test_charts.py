"""Where values lie, and which round numbers stand beside them."""

from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from marketplace.pricing.svg_charts import Axis, across, height_of, line_of, round_values, steps_of


def test_corners_of_the_box() -> None:
    x, y = Axis(0, 10), Axis(0, 4)
    assert line_of(x, y, [(0, 0), (10, 4), (5, 1)]) == "0,1000 1000,0 500,750"
    assert (across(x, 5), height_of(y, 0), height_of(y, 4)) == ("50.00%", "88.00%", "0.00%")


def test_steps_hold_until_the_next() -> None:
    assert steps_of([(0, 5), (3, 7)], 9) == [(0, 5), (3, 5), (3, 7), (9, 7)]


@given(low=st.fractions(min_value=0, max_value=10**9), span=st.fractions(min_value=Fraction(1, 10**6), max_value=10**12))
def test_round_values_are_few_and_inside(low: Fraction, span: Fraction) -> None:
    axis = Axis(low, low + span)
    found = round_values(axis)
    assert 1 <= len(found) <= 6
    assert all(axis.low <= value <= axis.high for value in found)
    steps = {later - value for value, later in pairwise(found)}
    assert len(steps) <= 1
