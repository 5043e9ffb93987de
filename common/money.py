"""Money as integer micro-units of the market's one currency; decimal strings only at the edges."""

from decimal import Decimal, InvalidOperation

from common.errors import InvalidInput

MICROS_PER_UNIT = 1_000_000
_MAX_MICROS = 2**53


def parse_money(text: str) -> int:
    """Micro-units of a decimal string such as "3.06".

    Raises InvalidInput for text that is no finite number, too large a number, or finer than a micro-unit.
    """
    try:
        value = Decimal(text)
    except (InvalidOperation, TypeError, ValueError) as error:
        raise InvalidInput(f"{text!r} is not an amount of money. Write it as a decimal number such as 3.06.") from error
    if not value.is_finite():
        raise InvalidInput(f"{text!r} is not a finite amount of money.")
    if abs(value) > _MAX_MICROS // MICROS_PER_UNIT:
        raise InvalidInput(f"{text!r} is too large an amount of money.")
    micros = value * MICROS_PER_UNIT
    if micros != micros.to_integral_value():
        raise InvalidInput(f"{text!r} is finer than a millionth of the currency unit.")
    return int(micros)


def format_money(micros: int) -> str:
    """A decimal string with two to six places: 3060000 -> "3.06", 1500 -> "0.0015"."""
    sign, digits = ("-" if micros < 0 else ""), abs(micros)
    units, fraction = divmod(digits, MICROS_PER_UNIT)
    places = f"{fraction:06d}".rstrip("0").ljust(2, "0")
    return f"{sign}{units}.{places}"


def divide_half_up(numerator: int, denominator: int) -> int:
    """numerator / denominator rounded to the nearest integer, halves away from zero; exact for integers of any size."""
    quotient, rest = divmod(abs(numerator), denominator)
    quotient += 2 * rest >= denominator
    return quotient if numerator >= 0 else -quotient
