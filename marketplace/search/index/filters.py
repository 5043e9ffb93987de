"""Conditions as masks over the rows in memory: exact integer comparisons, whatever the input."""

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from common.errors import NotFound
from common.ids import parse_public_id
from common.money import MICROS_PER_UNIT
from marketplace.search.index.binary_layout import UNKNOWN
from marketplace.search.index.column_store import THOUSANDTHS, ColumnStore
from marketplace.search.index.cuda_versions import version_number
from marketplace.search.index.price_columns import PriceColumns
from marketplace.search.language.fields import TERMS, Condition, Kind, Op, Scalar

Mask = NDArray[np.bool_]

_MIB_PER_GIB: Final = 1_024
_PPM: Final = 1_000_000
_US_PER_HOUR: Final = 3_600_000_000
_BEYOND: Final = 2**62
# Number of the column's units in one unit of the term.
_SCALES: Final[Mapping[str, int]] = {
    **dict.fromkeys(("vram", "ram"), _MIB_PER_GIB),
    **dict.fromkeys(("fp16", "fp32", "value", "cpu"), THOUSANDTHS),
    "reliability": _PPM,
    **dict.fromkeys(("price", "total"), MICROS_PER_UNIT),
    "lease_hours": _US_PER_HOUR,
}


def mask_of(condition: Condition, store: ColumnStore, prices: PriceColumns) -> Mask:
    """Return the rows that match; an unknown value matches no condition but `!=` and `notin`."""
    kind = TERMS[condition.term].kind
    match kind:
        case Kind.FLAG:
            equal = _flag(store[condition.term])
        case Kind.CHOICE if condition.term == "host":
            equal = _host(store["host"])
        case Kind.CHOICE:
            equal = _choice(store, condition.term)
        case _:
            return _number(_column(condition.term, store, prices), condition, _bound(condition.term, prices))
    return _unordered(condition, equal)


def _column(term: str, store: ColumnStore, prices: PriceColumns) -> NDArray[Any]:
    return prices.column(term) if term in ("price", "total", "value") else store[term]


def _bound(term: str, prices: PriceColumns) -> Callable[[Any], Decimal | int]:
    """Return the conversion of a condition's value to the column's units."""
    if TERMS[term].kind is Kind.VERSION:
        return lambda value: version_number(str(value))
    scale, start = _SCALES.get(term, 1), prices.now_us if term == "lease_hours" else 0
    return lambda value: Decimal(value) * scale + start


def _number(column: NDArray[Any], condition: Condition, bound: Callable[[Any], Decimal | int]) -> Mask:
    def equal(value: Scalar) -> Mask:
        wanted = bound(value)
        whole = math.floor(wanted)
        if whole != wanted or not UNKNOWN < whole < _BEYOND:
            return np.zeros(len(column), bool)
        fits: Mask = column == whole
        return fits

    if condition.op in (Op.EQ, Op.NE, Op.IN, Op.NOT_IN):
        return _unordered(condition, equal)
    return _ordered(column, condition.op, bound(condition.value))


def _ordered(column: NDArray[Any], op: Op, limit: Decimal | int) -> Mask:
    match op:
        case Op.GE:
            fits: Mask = column >= _within(math.ceil(limit), lowest=0)
        case Op.GT:
            fits = column > _within(math.floor(limit), lowest=UNKNOWN)
        case Op.LE:
            fits = (column <= _within(math.floor(limit), lowest=UNKNOWN)) & (column != UNKNOWN)
        case _:
            fits = (column < _within(math.ceil(limit), lowest=UNKNOWN)) & (column != UNKNOWN)
    return fits


def _within(limit: int, *, lowest: int) -> int:
    return min(max(limit, lowest), _BEYOND)


def _unordered(condition: Condition, equal: Callable[[Any], Mask]) -> Mask:
    values: Sequence[Scalar] = condition.value if isinstance(condition.value, tuple) else (condition.value,)
    either = reduce(np.logical_or, map(equal, values))
    return ~either if condition.op in (Op.NE, Op.NOT_IN) else either


def _flag(column: Mask) -> Callable[[Any], Mask]:
    return lambda value: column if value else ~column


def _choice(store: ColumnStore, term: str) -> Callable[[Any], Mask]:
    def equal(value: Scalar) -> Mask:
        code = store.words[term].known(value)
        if code is None:
            return np.zeros(store.size, bool)
        fits: Mask = store[term] == code
        return fits

    return equal


def _host(column: NDArray[np.bytes_]) -> Callable[[Any], Mask]:
    def equal(value: Scalar) -> Mask:
        try:
            key = parse_public_id("host", str(value))
        except NotFound:
            return np.zeros(len(column), bool)
        fits: Mask = column == key.bytes.rstrip(b"\0")
        return fits

    return equal
