"""Money as integer micro-units of the market's currency; decimal strings only in input and output."""

import re
from decimal import Decimal
from typing import Final

from django.conf import settings

from common.errors import InvalidInput

MICROS_PER_UNIT = 1_000_000
_MAX_MICROS = 2**53
_SIGNS: Final = {"USD": "$", "CNY": "¥", "EUR": "€", "GBP": "£", "JPY": "¥"}
# What else Decimal reads (signs, exponents, spaces, underscores, digits of other scripts) is not accepted as money,
# and an exponent of ten digits overflows.
_PLAIN: Final = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")


def is_plain_decimal(text: str) -> bool:
    """Return whether `text` is a decimal number in ASCII digits, such as "12.50", possibly negative."""
    return _PLAIN.fullmatch(text) is not None


def parse_money(text: str) -> int:
    """Return the micro-units of a decimal string such as "3.06".

    Raises:
        InvalidInput: it is not a plain decimal number, is too large, or is finer than a micro-unit.
    """
    if not is_plain_decimal(text):
        raise InvalidInput(f"{text[:40]!a} is not an amount of money. Write it as a decimal number such as 3.06.")
    value = Decimal(text)
    if abs(value) > _MAX_MICROS // MICROS_PER_UNIT:
        raise InvalidInput(f"{text!r} is too large an amount of money.")
    micros = value * MICROS_PER_UNIT
    if micros != micros.to_integral_value():
        raise InvalidInput(f"{text!r} is finer than a millionth of the currency unit.")
    return int(micros)


def format_money(micros: int) -> str:
    """Return a decimal string with two to six places: 3060000 -> "3.06", 1500 -> "0.0015"."""
    sign, digits = ("-" if micros < 0 else ""), abs(micros)
    units, fraction = divmod(digits, MICROS_PER_UNIT)
    places = f"{fraction:06d}".rstrip("0").ljust(2, "0")
    return f"{sign}{units}.{places}"


def money_or_none(micros: int | None) -> str | None:
    """Return `format_money` of an amount, or None without one."""
    return None if micros is None else format_money(micros)


def with_sign(text: str) -> str:
    """Return a decimal string with the currency's sign and thousands separated: "1234.5" -> "$1,234.5"."""
    minus, digits = ("−", text[1:]) if text.startswith("-") else ("", text)
    units, _point, places = digits.partition(".")
    return f"{minus}{currency_sign()}{int(units):,}.{places}"


def currency_sign() -> str:
    code = settings.MARKET_CURRENCY
    return _SIGNS.get(code, f"{code} ")


def divide_half_up(numerator: int, denominator: int) -> int:
    """Return numerator / denominator rounded to the nearest integer, halves away from zero.

    It is exact for integers of any size.
    """
    quotient, rest = divmod(abs(numerator), denominator)
    quotient += 2 * rest >= denominator
    return quotient if numerator >= 0 else -quotient
