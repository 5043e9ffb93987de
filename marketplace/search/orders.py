"""Sorted walks over the rows in memory: kept by small repairs, so that neither a page nor a changed row costs a sort."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Slots = NDArray[np.int32]
Keys = NDArray[np.int64]
Position = tuple[int, bytes]

# Where more than one row in so many changed, or there are few, sorting all again is cheaper than finding each its place.
REBUILD_SHARE = 128
REBUILD_LEAST = 2_048


class Order:
    """All rows by (key, id). `columns` are those that the key is worked out from, by `key_of(slots)`."""

    def __init__(self, columns: frozenset[str], key_of: Callable[[Any], Keys]) -> None:
        self.columns = columns
        self._key_of = key_of
        self._keys: Keys = np.empty(0, np.int64)
        self._walk: Slots = np.empty(0, np.int32)
        self._walked_keys: Keys = np.empty(0, np.int64)  # in the order of the walk
        self._place: Slots | None = None
        self._changed: list[NDArray[np.intp]] = []

    def touch(self, slots: NDArray[np.intp]) -> None:
        """These rows are new or have another key; their place is found when the order is next used."""
        self._changed.append(slots)

    def repair(self, ids: NDArray[np.bytes_], ranks: Callable[[], Slots]) -> None:
        """Bring the walk up to date with the rows, whose ids these are."""
        size = len(ids)
        if not self._changed and len(self._walk) == size:
            return
        changed = np.unique(np.concatenate([*self._changed, np.arange(len(self._walk), size)]))
        self._changed, self._place = [], None
        if size < REBUILD_LEAST or len(changed) * REBUILD_SHARE > size:
            self._keys = self._key_of(slice(None)).copy()
            self._walk = np.lexsort((ranks(), self._keys)).astype(np.int32)
            self._walked_keys = self._keys[self._walk]
            return
        self._move(changed, size, ranks())

    def _move(self, changed: NDArray[np.intp], size: int, ranks: Slots) -> None:
        known = len(self._walk)
        if changed[0] < known:
            stays = np.ones(known, bool)
            stays[changed[changed < known]] = False
            stays = stays.take(self._walk)
            self._walk, self._walked_keys = self._walk[stays], self._walked_keys[stays]
        grown = np.empty(size, np.int64)
        grown[:known] = self._keys
        grown[changed] = self._key_of(changed)
        self._keys = grown
        slots = changed[np.lexsort((ranks[changed], grown[changed]))]
        keys, own_ranks = grown[slots], ranks[slots].tolist()
        first, end = (np.searchsorted(self._walked_keys, keys, side).tolist() for side in ("left", "right"))
        rank_of = ranks.item
        places = [
            bisect_left(self._walk, rank, low, high, key=rank_of)
            for rank, low, high in zip(own_ranks, first, end, strict=True)
        ]
        self._walk = np.insert(self._walk, places, slots.astype(np.int32))
        self._walked_keys = np.insert(self._walked_keys, places, keys)

    def keys(self, slots: Any) -> Keys:
        keys: Keys = self._keys[slots]
        return keys

    def walk(self, ids: NDArray[np.bytes_], after: Position | None, *, downwards: bool) -> Slots:
        """The rows beyond a position, in the order in which they are met."""
        if after is None:
            return self._walk[::-1] if downwards else self._walk
        if downwards:
            return self._walk[: self._find(ids, after, bisect_left)][::-1]
        return self._walk[self._find(ids, after, bisect_right) :]

    def sorted(self, slots: NDArray[np.intp], after: Position | None, *, downwards: bool, ids: NDArray[np.bytes_]) -> Slots:
        """Of a few rows those beyond a position, in the order in which they are met."""
        if self._place is None:
            self._place = np.empty(len(self._walk), np.int32)
            self._place[self._walk] = np.arange(len(self._walk), dtype=np.int32)
        places = np.sort(self._place[slots])
        if after is not None and downwards:
            places = places[: np.searchsorted(places, self._find(ids, after, bisect_left))]
        elif after is not None:
            places = places[np.searchsorted(places, self._find(ids, after, bisect_right)) :]
        return self._walk[places[::-1] if downwards else places]

    def _find(self, ids: NDArray[np.bytes_], position: Position, side: Callable[..., int]) -> int:
        place: int = side(self._walk, position, key=lambda slot: (int(self._keys[slot]), bytes(ids[slot])))
        return place
