"""Amounts in Stripe's units, by hand, and back."""

import pytest

from billing.stripe.currencies import round_down, scale_of, to_micros, to_minor, top_up_limits
from common.errors import InvalidInput

EXACT = [
    ("USD", 25_500_000, 2550), ("usd", 10_000, 1), ("CNY", 100_000_000, 10_000), ("JPY", 3_000_000_000, 3000),
    ("KRW", 1_000_000, 1), ("KWD", 1_230_000, 1230), ("KWD", 10_000, 10), ("ISK", 7_000_000, 700), ("UGX", 1_000_000, 100),
]  # fmt: skip


@pytest.mark.parametrize(("currency", "micros", "minor"), EXACT)
def test_amounts_go_there_and_back(currency: str, micros: int, minor: int) -> None:
    assert to_minor(micros, currency) == minor
    assert to_micros(minor, currency) == micros
    assert round_down(micros + 9_999, currency) == micros


@pytest.mark.parametrize(("currency", "micros"), [("USD", 1), ("JPY", 500_000), ("KWD", 1_000), ("ISK", 10_000)])
def test_what_no_card_can_be_charged_is_refused(currency: str, micros: int) -> None:
    with pytest.raises(InvalidInput):
        to_minor(micros, currency)


@pytest.mark.parametrize("currency", ["USD", "CNY", "JPY", "KRW", "EUR"])
def test_the_amounts_to_choose_from_can_be_charged(currency: str) -> None:
    limits = top_up_limits(currency)
    assert all(limits.least_micros <= chip <= limits.most_micros for chip in limits.chips_micros)
    assert all(to_minor(chip, currency) for chip in (*limits.chips_micros, limits.least_micros, limits.most_micros))
    assert scale_of(currency).per_unit in (1, 100)
