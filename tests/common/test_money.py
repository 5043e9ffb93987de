"""Money in and out of text, without ever losing a micro-unit."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import InvalidInput
from common.money import divide_half_up, format_money, parse_money


@pytest.mark.parametrize(
    ("micros", "text"),
    [(3_060_000, "3.06"), (1_500, "0.0015"), (0, "0.00"), (-1, "-0.000001"), (10**15, "1000000000.00")],
)
def test_format(micros: int, text: str) -> None:
    assert format_money(micros) == text
    assert parse_money(text) == micros


@given(st.integers(-(10**15), 10**15))
def test_what_is_written_is_read(micros: int) -> None:
    text = format_money(micros)
    assert parse_money(text) == micros
    assert Decimal(text) * 1_000_000 == micros


NOT_PLAIN = [
    "1e1000000000",
    "1e3",
    "1E-3",
    "+5",
    " 5 ",
    "5\n",
    "5.",
    ".5",
    "1_000",
    "١٢",
    "１２",
    "0x10",
    "\u200b5",
    "5\ud800",
]


@pytest.mark.parametrize("text", ["", "abc", "NaN", "Infinity", "1e99", "0.0000001", "1,5", "--1", "9" * 40, *NOT_PLAIN])
def test_fault_070_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_money(text)


@given(st.integers(-(10**30), 10**30), st.integers(1, 10**15))
def test_division_rounds_to_the_nearest_and_halves_away_from_zero(numerator: int, denominator: int) -> None:
    exact = Fraction(numerator, denominator)
    result = divide_half_up(numerator, denominator)
    assert abs(exact - result) <= Fraction(1, 2)
    if abs(exact - result) == Fraction(1, 2):
        assert abs(result) > abs(exact)
