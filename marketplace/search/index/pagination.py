"""Pages of a search: rows beyond a position in a sort order, found without sorting, however deep."""

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from marketplace.cursor import Cursor, read_cursor
from marketplace.search.index.column_store import ColumnStore, stored
from marketplace.search.index.executor import SearchExecution
from marketplace.search.index.price_columns import tflops_per_price, unit_price
from marketplace.search.index.sort_orders import Columns, Keys, Position, SortOrder

# Where fewer than one row in this many matches, sorting the matches is cheaper than walking past the others.
_FEW: Final = 16
_CHUNK: Final = 256
_RANK_BITS: Final = 23  # a key and the rank of more than eight million offers do not fit into 63 bits
_KEY_MAX: Final = 2 ** (63 - _RANK_BITS)
_PLAIN: Final = {"reliability": "reliability", "newest": "created", "vram": "vram"}


@dataclass(frozen=True)
class Page:
    """Slots of a page, and the cursors around it."""

    slots: list[int]
    next: str | None = None
    previous: str | None = None


def page_of(search: SearchExecution) -> Page:
    """Return the page of a search.

    Raises:
        InvalidInput: the cursor is not one of ours.
    """
    query = search.query
    cursor = read_cursor(query.cursor, sort=query.sort) if query.cursor else None
    backwards = cursor is not None and cursor.backwards
    after = None if cursor is None else (cursor.value, stored(cursor.key))
    downwards = query.sort.startswith("-") is not backwards
    slots, keys = _beyond(search, after, downwards=downwards, wanted=query.limit + 1)
    more = len(slots) > query.limit
    slots, keys = slots[: query.limit], keys[: query.limit]
    if backwards:
        slots, keys = slots[::-1], keys[::-1]
    if not slots:
        return Page([])
    first, last = search.store.uuids([slots[0], slots[-1]])
    has_previous = more if backwards else cursor is not None
    return Page(
        slots,
        next=Cursor(query.sort, keys[-1], last).encode() if more or backwards else None,
        previous=Cursor(query.sort, keys[0], first, backwards=True).encode() if has_previous else None,
    )


def _beyond(search: SearchExecution, after: Position | None, *, downwards: bool, wanted: int) -> tuple[list[int], list[int]]:
    """Return the next matching slots, with their keys."""
    if not search.total:
        return [], []
    order = _order_of(search)
    if order is None:
        return _selected(search, after, downwards=downwards, wanted=wanted)
    store, ids = search.store, search.store["id"]
    order.repair(ids, store.ranks)
    if search.total * _FEW < store.size:
        slots = order.sorted(np.flatnonzero(search.fits), after, downwards=downwards, ids=ids)[:wanted]
    else:
        slots = _walked(order.walk(ids, after, downwards=downwards), search, wanted)
    return slots.tolist(), order.keys(slots).tolist()


def _walked(walk: NDArray[np.int32], search: SearchExecution, wanted: int) -> NDArray[np.int32]:
    """Return the first matching rows of a walk.

    Each step is about as long as it takes to find what is missing.
    """
    found: list[NDArray[np.int32]] = []
    start, missing = 0, wanted
    step = max(_CHUNK, 2 * wanted * search.store.size // search.total)
    while missing > 0 and start < len(walk):
        part = walk[start : start + step]
        hits = part[search.fits[part]][:missing]
        found.append(hits)
        missing -= len(hits)
        start += step
    return np.concatenate(found) if found else walk[:0]


def _selected(
    search: SearchExecution, after: Position | None, *, downwards: bool, wanted: int
) -> tuple[list[int], list[int]]:
    """Return the next matching slots for keys that no walk is kept for.

    Such keys depend on the search, or change with every rent.
    """
    store = search.store
    slots = np.flatnonzero(search.fits)
    keys = _keys(search)[slots].astype(np.int64)
    ranks = store.ranks()[slots].astype(np.int64)
    if after is not None:
        key, rank = after[0], store.rank_of(after[1], after=not downwards)
        further = keys < key if downwards else keys > key
        beyond = further | ((keys == key) & (ranks < rank if downwards else ranks >= rank))
        slots, keys, ranks = slots[beyond], keys[beyond], ranks[beyond]
    if len(slots) > wanted and len(store.ranks()) < 2**_RANK_BITS and keys.max() < _KEY_MAX:
        joint = keys << _RANK_BITS | ranks
        place = len(joint) - wanted if downwards else wanted - 1
        edge = np.partition(joint, place)[place]
        near = joint >= edge if downwards else joint <= edge
        slots, keys, ranks = slots[near], keys[near], ranks[near]
    places = np.lexsort((ranks, keys))
    places = (places[::-1] if downwards else places)[:wanted]
    return slots[places].tolist(), keys[places].tolist()


def _keys(search: SearchExecution) -> NDArray[Any]:
    match search.query.sort.removeprefix("-"):
        case "gpu_free":
            return search.store["count"]
        case name:
            return search.price_columns.column(name)


def _order_of(search: SearchExecution) -> SortOrder | None:
    """Return the kept order for the sort, or None where there is none."""
    name, orders = search.query.sort.removeprefix("-"), search.store.orders
    if name == "gpu_free" or (name not in _PLAIN and not search.price_columns.plain):
        return None
    # A tiered rent begins at the hourly price, so the same order serves.
    mode = "hourly" if search.price_columns.mode == "tiered" else search.price_columns.mode
    label = name if name in _PLAIN else f"{name} {mode}"
    if label not in orders:
        orders[label] = _made(search.store, name, mode)
    return orders[label]


def _made(store: ColumnStore, name: str, mode: str) -> SortOrder:
    if name in _PLAIN:
        return SortOrder(store, frozenset({_PLAIN[name]}), partial(_plain_keys, _PLAIN[name]))
    columns = {"hourly", mode} if mode != "spot" else {mode}
    if name == "value":
        return SortOrder(store, frozenset({*columns, "rate"}), partial(_value_keys, mode))
    return SortOrder(store, frozenset(columns), partial(_price_keys, mode))


def _plain_keys(column: str, rows: Columns, slots: Any) -> Keys:
    keys: Keys = rows[column][slots].astype(np.int64)
    return keys


def _price_keys(mode: str, rows: Columns, slots: Any) -> Keys:
    return unit_price(rows, mode, slots)


def _value_keys(mode: str, rows: Columns, slots: Any) -> Keys:
    return tflops_per_price(rows["rate"][slots], unit_price(rows, mode, slots))
