"""Parts that add up, however many GPUs there are."""

from hypothesis import given
from hypothesis import strategies as st

from instances.earnings.allocation import EarningsSum, split_equally


@given(st.integers(-(10**15), 10**15), st.integers(1, 64))
def test_parts_add_up_and_differ_by_one_at_most(micros: int, count: int) -> None:
    found = split_equally(micros, count)
    assert (len(found), sum(found)) == (count, micros)
    assert max(found) - min(found) <= 1


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.integers(1, 64))
def test_no_gpu_is_left_with_a_fee_above_its_charge(charge: int, fee: int, count: int) -> None:
    fee = min(fee, charge)
    assert all(own >= taken for own, taken in zip(split_equally(charge, count), split_equally(fee, count), strict=True))


def test_by_hand() -> None:
    assert split_equally(10, 3) == [4, 3, 3]
    assert split_equally(-10, 3) == [-4, -3, -3]


def test_what_was_given_back_is_told_apart() -> None:
    found = EarningsSum()
    found.add(1000, 100, 7200)
    found.add(-400, -40, 0)
    assert (found.gross_micros, found.given_back_micros, found.fee_micros, found.net_micros) == (1000, 400, 60, 540)
    assert found.gpu_hours == 2
