"""Sort orders of the rows in memory, kept by small repairs.

So no page or changed row costs a full sort.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Slots = NDArray[np.int32]
Keys = NDArray[np.int64]
Position = tuple[int, bytes]

# Where more than one row in this many changed, or there are few rows, a full sort is cheaper than finding each
# position: of 100,000 rows a sort takes 12 ms, the positions of 440 take 0.5 ms and those of 8,000 take 3 to 8 ms.
REBUILD_SHARE = 16
REBUILD_LEAST = 2_048


class Columns(Protocol):
    """Arrays by name: of all rows by slot, or of some rows."""

    def __getitem__(self, name: str, /) -> NDArray[Any]: ...


@dataclass(frozen=True)
class SortedSlots:
    """Rows sorted by (key, id).

    It is immutable, so that the next one can be built while this one is read.
    """

    keys: Keys  # by slot
    slots: Slots  # in sorted order
    met_keys: Keys  # in sorted order

    def __len__(self) -> int:
        return len(self.slots)

    def moved(self, changed: NDArray[np.intp], keys: Keys, ranks: Slots) -> "SortedSlots":
        """Return a walk with these rows, some of them new, at the positions of their new keys.

        `ranks` are those of all rows then.
        """
        known, size = len(self), len(ranks)
        grown = np.empty(size, np.int64)
        grown[:known] = self.keys
        grown[changed] = keys
        if size < REBUILD_LEAST or len(changed) * REBUILD_SHARE > size:
            slots = np.lexsort((ranks, grown)).astype(np.int32)
            return SortedSlots(grown, slots, grown[slots])
        slots, met_keys = self.slots, self.met_keys
        if changed.min() < known:
            stays = np.ones(known, bool)
            stays[changed[changed < known]] = False
            stays = stays.take(slots)
            slots, met_keys = slots[stays], met_keys[stays]
        changed = changed[np.lexsort((ranks[changed], grown[changed]))]
        keys, own_ranks = grown[changed], ranks[changed].tolist()
        first, end = (np.searchsorted(met_keys, keys, side).tolist() for side in ("left", "right"))
        places = [
            bisect_left(slots, rank, low, high, key=ranks.item)
            for rank, low, high in zip(own_ranks, first, end, strict=True)
        ]
        return SortedSlots(grown, np.insert(slots, places, changed.astype(np.int32)), np.insert(met_keys, places, keys))


_NOTHING = SortedSlots(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int64))


class SortOrder:
    """Sort order of all rows by (key, id); `key_of(rows, slots)` computes the key from `columns`."""

    def __init__(self, rows: Columns, columns: frozenset[str], key_of: Callable[[Columns, Any], Keys]) -> None:
        self.columns = columns
        self._rows = rows
        self._key_of = key_of
        self._walk = _NOTHING
        self._place: Slots | None = None
        self._changed: list[NDArray[np.intp]] = []

    def touch(self, slots: NDArray[np.intp]) -> None:
        """Mark rows as new or with another key; their positions are found when the order is next used."""
        self._changed.append(slots)

    def repair(self, ids: NDArray[np.bytes_], ranks: Callable[[], Slots]) -> None:
        """Update the walk to the present rows, which have these ids."""
        size, known = len(ids), len(self._walk)
        if not self._changed and known == size:
            return
        changed = np.unique(np.concatenate([*self._changed, np.arange(known, size)]))
        self._use(self._walk.moved(changed, self._key_of(self._rows, changed), ranks()))

    def next_walk(
        self, rows: Columns, chosen: NDArray[np.bool_], slots: NDArray[np.intp], ranks: Slots
    ) -> "NextSortedSlots | None":
        """Return the walk after writing the chosen rows, or None if the order must be repaired first.

        It changes nothing and needs no lock.
        """
        walk = self._walk
        if self._changed or len(walk) + np.count_nonzero(slots >= len(walk)) != len(ranks):
            return None
        return NextSortedSlots(walk, walk.moved(slots, self._key_of(rows, chosen), ranks))

    def adopt(self, following: "NextSortedSlots | None") -> bool:
        """Use the next walk, and return whether it was still based on the present one."""
        if following is None or self._changed or self._walk is not following.before:
            return False
        self._use(following.walk)
        return True

    def _use(self, walk: SortedSlots) -> None:
        self._walk, self._changed, self._place = walk, [], None

    def keys(self, slots: Any) -> Keys:
        keys: Keys = self._walk.keys[slots]
        return keys

    def walk(self, ids: NDArray[np.bytes_], after: Position | None, *, downwards: bool) -> Slots:
        """Return the rows beyond a position, in order."""
        if after is None:
            return self._walk.slots[::-1] if downwards else self._walk.slots
        if downwards:
            return self._walk.slots[: self._find(ids, after, bisect_left)][::-1]
        return self._walk.slots[self._find(ids, after, bisect_right) :]

    def sorted(self, slots: NDArray[np.intp], after: Position | None, *, downwards: bool, ids: NDArray[np.bytes_]) -> Slots:
        """Return those of a few rows that are beyond a position, in order."""
        if self._place is None:
            self._place = np.empty(len(self._walk), np.int32)
            self._place[self._walk.slots] = np.arange(len(self._walk), dtype=np.int32)
        places = np.sort(self._place[slots])
        if after is not None and downwards:
            places = places[: np.searchsorted(places, self._find(ids, after, bisect_left))]
        elif after is not None:
            places = places[np.searchsorted(places, self._find(ids, after, bisect_right)) :]
        return self._walk.slots[places[::-1] if downwards else places]

    def _find(self, ids: NDArray[np.bytes_], position: Position, side: Callable[..., int]) -> int:
        place: int = side(self._walk.slots, position, key=lambda slot: (int(self._walk.keys[slot]), bytes(ids[slot])))
        return place


@dataclass(frozen=True)
class NextSortedSlots:
    """A walk with the one that it is based on."""

    before: SortedSlots
    walk: SortedSlots
