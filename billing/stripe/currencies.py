"""Amounts in Stripe's smallest unit of a currency, which is not always a hundredth."""

from dataclasses import dataclass
from typing import Final

from common.errors import InvalidInput
from common.money import MICROS_PER_UNIT, format_money

# https://docs.stripe.com/currencies: currencies without decimals; those with three, of which the last is 0; and the
# two that Stripe counts in hundredths although they have none.
_NO_DECIMALS: Final = frozenset(
    ["BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF"]
)
_THREE_DECIMALS: Final = frozenset(["BHD", "JOD", "KWD", "OMR", "TND"])
_WHOLE_UNITS_IN_HUNDREDTHS: Final = frozenset(["ISK", "UGX"])


@dataclass(frozen=True)
class CurrencyScale:
    """Number of Stripe's units per unit of the currency; amounts are multiples of `step` of them."""

    per_unit: int
    step: int = 1


@dataclass(frozen=True)
class TopUpLimits:
    """Smallest and largest top-up, and suggested amounts, in micro-units."""

    least_micros: int
    most_micros: int
    chips_micros: tuple[int, ...]


def _limits(least: int, most: int, *chips: int) -> TopUpLimits:
    return TopUpLimits(least * MICROS_PER_UNIT, most * MICROS_PER_UNIT, tuple(chip * MICROS_PER_UNIT for chip in chips))


_USUAL: Final = _limits(5, 5_000, 10, 25, 50, 100, 250)
_LIMITS: Final = {
    "CNY": _limits(20, 50_000, 50, 100, 200, 500, 1_000),
    "JPY": _limits(500, 500_000, 1_000, 3_000, 5_000, 10_000, 30_000),
    "KRW": _limits(5_000, 5_000_000, 10_000, 30_000, 50_000, 100_000, 300_000),
}


def scale_of(currency: str) -> CurrencyScale:
    code = currency.upper()
    if code in _NO_DECIMALS:
        return CurrencyScale(per_unit=1)
    if code in _THREE_DECIMALS:
        return CurrencyScale(per_unit=1_000, step=10)
    return CurrencyScale(per_unit=100, step=100 if code in _WHOLE_UNITS_IN_HUNDREDTHS else 1)


def top_up_limits(currency: str) -> TopUpLimits:
    return _LIMITS.get(currency.upper(), _USUAL)


def to_minor(micros: int, currency: str) -> int:
    """Convert micro-units to Stripe's units.

    Raises:
        InvalidInput: no card can be charged this amount.
    """
    scale = scale_of(currency)
    if micros % step_micros(currency):
        least = format_money(step_micros(currency))
        raise InvalidInput(
            f"{format_money(micros)} {currency.upper()} isn't a multiple of {least}, the smallest amount for cards."
        )
    return micros * scale.per_unit // MICROS_PER_UNIT


def to_micros(minor: int, currency: str) -> int:
    """Convert Stripe's units to micro-units, always exactly."""
    return minor * (MICROS_PER_UNIT // scale_of(currency).per_unit)


def step_micros(currency: str) -> int:
    """Return the smallest amount that a card can be charged or refunded; all others are multiples of it."""
    scale = scale_of(currency)
    return scale.step * MICROS_PER_UNIT // scale.per_unit


def round_down(micros: int, currency: str) -> int:
    """Return the largest amount up to `micros` that a card can be charged or refunded."""
    return micros - micros % step_micros(currency)
