"""Values in bodies and parameters of requests, checked; clients write many of them as text."""

import json
import math
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, TypeGuard

from vast.constants import OFFERS_AT_MOST, OFFERS_BY_DEFAULT
from vast.errors import InvalidArgs

_NUMBER_CHARS: Final = 60
_DEEPEST: Final = 8
_LATEST: Final = 32_503_680_000.0  # the year 3000


def read_number(field: str, value: object) -> float:
    """Return a number that may be written as text.

    Raises:
        InvalidArgs: it is none.
    """
    number = math.nan
    if isinstance(value, (int, float, str)) and not isinstance(value, bool) and len(str(value)) <= _NUMBER_CHARS:
        with suppress(ValueError, OverflowError):
            number = float(value)
    if not math.isfinite(number):
        raise InvalidArgs(f"{field}: Send a number.")
    return number


def read_limit(value: object) -> int:
    """Return how many rows a search is to return at most.

    Raises:
        InvalidArgs: it is no number.
    """
    if value is None:
        return OFFERS_BY_DEFAULT
    return max(0, min(int(read_number("limit", value)), OFFERS_AT_MOST))


def read_moment(field: str, value: object) -> datetime:
    """Return a moment that is written in seconds since 1970.

    Raises:
        InvalidArgs: it is none.
    """
    seconds = read_number(field, value)
    if not 0 <= seconds <= _LATEST:
        raise InvalidArgs(f"{field}: Send seconds since 1970.")
    return datetime.fromtimestamp(seconds, UTC)


def read_json(text: str | None) -> Any:
    """Return the value in a parameter: None if it is `null` or left out, and `...` if it can't be read."""
    try:
        value = json.loads(text or "null")
    except (ValueError, RecursionError):
        return ...
    return value if _is_flat(value, _DEEPEST) else ...


def _is_flat(value: object, levels: int) -> bool:
    """Return whether lists and objects are nested in each other no deeper than this."""
    if not isinstance(value, (list, dict)):
        return True
    return levels > 0 and all(_is_flat(each, levels - 1) for each in (value.values() if isinstance(value, dict) else value))


def is_amount(value: object, *, most: float) -> TypeGuard[int | float]:
    """Return whether a value of JSON is a number from 0 to `most`."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= most
