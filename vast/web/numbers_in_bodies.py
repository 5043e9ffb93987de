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
    number = body.get(name)
    if not isinstance(number, list) or len(number) > BULK_AT_MOST or not all(type(each) is int for each in number):
        raise InvalidArgs(f"{name}: Send a list of at most {BULK_AT_MOST} numbers.")
    return list(dict.fromkeys(number))
