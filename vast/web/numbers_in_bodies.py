"""Lists of short numbers in bodies."""

from collections.abc import Mapping
from typing import Any

from vast.constants import BULK_AT_MOST
from vast.errors import InvalidArgs


def read_numbers(body: Mapping[str, Any], name: str) -> list[int]:
    """Return the numbers in a list of a body, each once.

    Raises:
        InvalidArgs: it is no list of numbers, or too long a one.
    """
    given = body.get(name)
    if not isinstance(given, list) or len(given) > BULK_AT_MOST or not all(type(each) is int for each in given):
        raise InvalidArgs(f"{name}: Send a list of at most {BULK_AT_MOST} numbers.")
    return list(dict.fromkeys(given))
