"""Facets: how many offers each choice of a filter would match, and the lowest price among them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marketplace.gpu_catalogue.catalogue import by_slug
from marketplace.search.index.column_store import ColumnStore
from marketplace.search.index.executor import SearchExecution
from marketplace.search.index.filters import Mask

GPU_COUNTS: Final = (1, 2, 4, 8)
_MIB_PER_GIB: Final = 1_024
_UNNAMED: Final = ""  # no catalogue series, no CUDA version: not a choice
_NOTHING: Final = np.iinfo(np.int64).max
# The combination that each facet is counted from; `count` is counted separately.
_COUNTED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("gpu", "series", "architecture", "vram"), "card"),
    "region": "place",
    **dict.fromkeys(("runtime", "simulated", "verified", "nvlink", "disk", "cuda"), "traits"),
}

Choice = str | int | float | bool
Members = tuple[list[Any], list[str], NDArray[np.int64]]
Tally = tuple[NDArray[np.int64], NDArray[np.int64]]  # counts and lowest prices by choice


class FacetChoice(NamedTuple):
    """Number of open offers for one choice of a filter, and their lowest price per GPU-hour."""

    value: Choice
    label: str
    count: int  # type: ignore[assignment]  # as of a tuple it is not wanted
    price_min_micros: int | None


@dataclass(frozen=True)
class Facets:
    """Counts of all facets.

    `total` matches the whole search; each list ignores its own term, so that it shows what another choice would
    give.
    """

    total: int
    choices: dict[str, list[FacetChoice]] = field(default_factory=dict)


@dataclass(frozen=True)
class Layout:
    """Every choice of every facet that is counted from one group of columns, side by side.

    `has[combination, choice]` says whether the combination has the choice. `shares` is the same in floats: one
    product adds up all counts, exactly as long as there are fewer than 2**53 offers.
    """

    spans: dict[str, slice]
    values: list[Any]
    labels: list[str]
    has: NDArray[np.bool_]
    shares: NDArray[np.float64]


@dataclass(frozen=True)
class PricedRows:
    """Rows, and the cost of each."""

    slots: NDArray[np.intp]
    prices: NDArray[np.int64]


def facets_of(search: SearchExecution) -> Facets:
    whole, tallies = _found(search, search.fits), dict[str, Tally]()
    choices: dict[str, list[FacetChoice]] = {}
    for facet, group in _COUNTED.items():
        fits, layout = search.fits_but_for(facet), _layout(search.store, group)
        if fits is not search.fits:
            tally = _tally(search.store, group, layout, _found(search, fits))
        elif group in tallies:
            tally = tallies[group]
        else:
            tally = tallies[group] = _tally(search.store, group, layout, whole)
        choices[facet] = _choices(layout, layout.spans[facet], tally)
    fits = search.fits_but_for("count")
    choices["count"] = _counts(search.store, whole if fits is search.fits else _found(search, fits))
    return Facets(search.total, choices)


def _found(search: SearchExecution, fits: Mask) -> PricedRows:
    slots = np.flatnonzero(fits)
    return PricedRows(slots, search.price_columns.price[slots])


def _tally(store: ColumnStore, group: str, layout: Layout, found: PricedRows) -> Tally:
    codes, size = store[group][found.slots], len(layout.shares)
    lows = np.full(size, _NOTHING, np.int64)
    np.minimum.at(lows, codes, found.prices)
    counts = np.bincount(codes, minlength=size) @ layout.shares
    return counts.astype(np.int64), np.where(layout.has, lows[:, None], _NOTHING).min(axis=0, initial=_NOTHING)


def _choices(layout: Layout, span: slice, tally: Tally) -> list[FacetChoice]:
    counts, lows = tally
    rows = zip(layout.values[span], layout.labels[span], counts[span].tolist(), lows[span].tolist(), strict=True)
    made = [FacetChoice(*row) for row in rows if row[2] and row[0] != _UNNAMED]
    made.sort(key=_most_first)
    return made


def _most_first(choice: FacetChoice) -> tuple[int, Any]:
    return -choice.count, choice.value


def _layout(store: ColumnStore, group: str) -> Layout:
    """Return the group's layout, rebuilt when there is a new combination."""
    kept: Layout | None = store.kept.get(group)
    if kept is None or len(kept.shares) != len(store.combinations[group]):
        kept = store.kept[group] = _new_layout(store, group)
    return kept


def _new_layout(store: ColumnStore, group: str) -> Layout:
    members = store.combinations[group].members
    spans: dict[str, slice] = {}
    values, labels, has = list[Any](), list[str](), list[NDArray[np.bool_]]()
    for facet in (name for name, each in _COUNTED.items() if each == group):
        own, names, codes = _members(store, facet, members)
        spans[facet] = slice(len(values), len(values) + len(own))
        values, labels = values + own, labels + names
        has.append(np.equal.outer(codes, np.arange(len(own))))
    joined = np.concatenate(has, axis=1)
    return Layout(spans, values, labels, joined, joined.astype(np.float64))


def _members(store: ColumnStore, facet: str, members: Mapping[str, NDArray[np.int64]]) -> Members:
    """Return a facet's values, their labels, and the position of each combination's value."""
    if facet in ("simulated", "verified", "nvlink"):
        return [False, True], ["no", "yes"], members[facet]
    if facet == "vram":
        found, places = np.unique(members["vram"], return_inverse=True)
        sizes = [_gigabytes(size) for size in found.tolist()]
        return sizes, [f"{size} GB" for size in sizes], places
    texts = list(store.words[facet].texts)
    if facet in ("series", "architecture"):
        words = store.words[facet]
        table = store.words["gpu"].table(lambda slug: words.code(getattr(by_slug(slug), facet)))
        return texts, texts, table[members["gpu"]]
    return texts, [by_slug(slug).name for slug in texts] if facet == "gpu" else texts, members[facet]


def _gigabytes(mib: int) -> int | float:
    return mib // _MIB_PER_GIB if mib % _MIB_PER_GIB == 0 else mib / _MIB_PER_GIB


def _counts(store: ColumnStore, found: PricedRows) -> list[FacetChoice]:
    """Return the numbers of offers with at least this many free GPUs."""
    most = GPU_COUNTS[-1]
    free = np.minimum(store["count"][found.slots], most)
    lows = np.full(most + 1, _NOTHING, np.int64)
    np.minimum.at(lows, free, found.prices)
    counts, cheapest = np.bincount(free, minlength=most + 1), lows.tolist()
    rows = [(number, int(counts[number:].sum()), min(cheapest[number:])) for number in GPU_COUNTS]
    return [FacetChoice(number, str(number), count, low if count else None) for number, count, low in rows]
