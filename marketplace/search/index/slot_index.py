"""Index of offers: sorted ids with their slots.

It is immutable, so that it can be read while another is being built.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class SlotIndex:
    """Sorted ids; `slots[i]` is the slot of `ids[i]`."""

    ids: NDArray[np.bytes_]
    slots: NDArray[np.int32]

    @classmethod
    def of(cls, ids: NDArray[np.bytes_]) -> "SlotIndex":
        """Return the index of these offers, whose slots are their positions."""
        slots = np.argsort(ids, kind="stable").astype(np.int32)
        return cls(ids[slots], slots)

    def __len__(self) -> int:
        return len(self.ids)

    def slots_of(self, ids: NDArray[np.bytes_]) -> NDArray[np.intp]:
        """Return the slots of ids; -1 for those without one."""
        if not len(self):
            return np.full(len(ids), -1, np.intp)
        places = np.minimum(np.searchsorted(self.ids, ids), len(self) - 1)
        return np.where(self.ids[places] == ids, self.slots[places], -1).astype(np.intp)

    def with_more(self, ids: NDArray[np.bytes_], slots: NDArray[np.intp]) -> "SlotIndex":
        """Return an index with additional offers and their slots."""
        if not len(ids):
            return self
        order = np.argsort(ids)
        ids, slots = ids[order], slots[order]
        places = np.searchsorted(self.ids, ids)
        return SlotIndex(np.insert(self.ids, places, ids), np.insert(self.slots, places, slots).astype(np.int32))

    @cached_property
    def ranks(self) -> NDArray[np.int32]:
        """Return the position of each slot in the order of ids."""
        ranks = np.empty(len(self), np.int32)
        ranks[self.slots] = np.arange(len(self), dtype=np.int32)
        return ranks
