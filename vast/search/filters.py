"""Filters of lists: conditions on the fields of rows, whose values may be written as text."""

from collections.abc import Mapping
from typing import Any, Final

from vast.errors import InvalidArgs
from vast.values import read_json

OPS: Final = ("eq", "neq", "in", "notin", "gt", "gte", "lt", "lte")
_FIELDS_AT_MOST: Final = 50
_NAME: Final = 40
Filters = Mapping[str, Mapping[str, Any]]


def read_filters(text: str | None) -> Filters:
    """Return the filters in a parameter, which is JSON; `null` is the same as left out.

    Raises:
        InvalidArgs: it can't be read.
    """
    found = read_json(text)
    if found is None:
        return {}
    if not isinstance(found, dict) or len(found) > _FIELDS_AT_MOST:
        raise InvalidArgs("select_filters: Send an object of conditions.")
    for name, each in found.items():
        if not isinstance(each, dict) or not set(each) <= set(OPS):
            raise InvalidArgs(f'select_filters: {name[:_NAME]}: Send a condition such as {{"in": ["a"]}}.')
    return found


def holds(row: Mapping[str, Any], filters: Filters) -> bool:
    """Return whether the row meets all filters."""
    return all(_meets(row.get(name), op, value) for name, each in filters.items() for op, value in each.items())


def _meets(have: Any, op: str, value: Any) -> bool:
    if op in ("eq", "neq", "in", "notin"):
        values = value if op in ("in", "notin") and isinstance(value, list) else [value]
        return any(_same(have, each) for each in values) is (op in ("eq", "in"))
    left, right = _number(have), _number(value)
    if left is None or right is None:
        return False
    return {"gt": left > right, "gte": left >= right, "lt": left < right, "lte": left <= right}[op]


def _same(have: Any, value: Any) -> bool:
    if isinstance(have, bool) or have is None or value is None:
        return have is value or str(have).lower() == str(value).lower()
    number = _number(value)
    if isinstance(have, (int, float)) and number is not None:
        return have == number
    return isinstance(value, str) and have == value


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)) or len(str(value)) > _NAME:
        return None
    try:
        return float(value)
    except ValueError:
        return None
