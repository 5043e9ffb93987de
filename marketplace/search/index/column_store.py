"""Column store of the market's open offers: an array for each searchable field, a slot per offer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from marketplace.gpu_catalogue.catalogue import by_slug
from marketplace.search.index.binary_layout import TERMS_SOLD, UNKNOWN, WORDS
from marketplace.search.index.cuda_versions import version_number
from marketplace.search.index.dictionary_encoding import CompositeDictionary, StringDictionary, UnknownCode
from marketplace.search.index.slot_index import SlotIndex
from marketplace.search.index.sort_orders import NextSortedSlots, SortOrder

THOUSANDTHS: Final = 1_000
NEWS_MAX: Final = 500  # rendered as JSON in about 15 ms
BODIES_MAX: Final = 20_000
_SPARE: Final = 1_024
_BLOATED: Final = 2  # ratio of slots to open offers
_TYPES: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("id", "host"), "S16"),
    **dict.fromkeys(("gpu", "region", "disk"), np.int32),
    **dict.fromkeys(("runtime", "series", "architecture"), np.uint16),
    **dict.fromkeys(("simulated", "verified", "nvlink", "tiered"), np.bool_),
    **dict.fromkeys(("count", "gpu_total", "vram", "cpu", "ram", "disk_free"), np.int32),
    **dict.fromkeys(("disk_read", "disk_write", "net_up", "net_down", "reliability", "fp16", "fp32", "rate"), np.int32),
    **dict.fromkeys(("lease_hours", "created", "hourly", "spot", "disk_price", "cuda"), np.int64),
    **dict.fromkeys((f"off_{term}" for term in TERMS_SOLD), np.int16),
    # Codes of combinations, in the integer width that numpy counts fastest.
    **dict.fromkeys(("card", "place", "traits"), np.intp),
}


class ColumnStore:
    """Arrays by column.

    An offer keeps its slot while it is rented and returns, so that most changes write few numbers. A closed offer
    keeps its slot with `count` 0, which no search returns.
    """

    def __init__(self) -> None:
        self.size = 0
        self.words: dict[str, StringDictionary] = {name: StringDictionary() for name in (*WORDS, "series", "architecture")}
        self.combinations: dict[str, CompositeDictionary] = {
            "card": CompositeDictionary(("gpu", "vram"), (31, 32)),
            "place": CompositeDictionary(("region",), (31,)),
            "traits": CompositeDictionary(
                ("runtime", "disk", "cuda", "simulated", "verified", "nvlink"), (16, 20, 20, 1, 1, 1)
            ),
        }
        self.orders: dict[str, SortOrder] = {}
        # Caches of others: offers' JSON by slot, until the offer changes; and what depends only on the words.
        self.bodies: dict[int, bytes] = {}
        self.news: set[int] = set()  # offers that were shown and have changed since; empty when there were many
        self.kept: dict[str, Any] = {}
        self._columns: dict[str, NDArray[Any]] = {name: np.empty(0, kind) for name, kind in _TYPES.items()}
        self._index = SlotIndex.of(np.empty(0, "S16"))
        self._models: dict[str, NDArray[np.int64]] = {"rate": np.empty(0, np.int64)}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name][: self.size]

    # -- reads

    def slots_of(self, ids: NDArray[np.bytes_]) -> NDArray[np.intp]:
        """Return the slots of these offers; -1 for those without one."""
        return self._index.slots_of(ids)

    def uuids(self, slots: Sequence[int]) -> list[UUID]:
        return uuids(self._columns["id"][slots].tolist())

    def ranks(self) -> NDArray[np.int32]:
        """Return the position of each slot in the order of ids."""
        return self._index.ranks

    def rank_of(self, key: bytes, *, after: bool) -> int:
        return int(np.searchsorted(self._index.ids, key, side="right" if after else "left"))

    # -- writes

    def put(self, records: NDArray[Any]) -> None:
        """Write new or changed offers; closed ones only if they have a slot."""
        self.meet(records)
        self.write(self.draft(records))

    def meet(self, records: NDArray[Any]) -> None:
        """Assign codes to new models and combinations; the words must be known."""
        codes = self._codes(records)
        self._load_models()
        for name, group in _groups(codes, records).items():
            self.combinations[name].meet(group)

    def draft(self, records: NDArray[Any]) -> "StoreUpdate":
        """Prepare what `write` writes, without a change and without the lock.

        Any write meanwhile makes the draft invalid.

        Raises:
            UnknownCode: a word, model or combination has no code.
        """
        index = self._index
        slots = index.slots_of(records["id"])
        wanted = (slots >= 0) | (records["count"] > 0)
        records, slots = records[wanted], slots[wanted]
        fresh = slots < 0
        slots[fresh] = np.arange(len(index), len(index) + np.count_nonzero(fresh))
        return StoreUpdate(index, self._values(records), slots, fresh, index.with_more(records["id"][fresh], slots[fresh]))

    def follows(self, draft: "StoreUpdate") -> bool:
        """Return whether the slots are still those that the draft is based on."""
        return draft.before is self._index

    def write(self, draft: "StoreUpdate", walks: Mapping[str, NextSortedSlots] = MappingProxyType({})) -> None:
        """Write a draft.

        `walks` are those of `draft_walks`; other orders find the positions of changed rows when they are next
        used.
        """
        if not len(draft.slots):
            return
        for sort, chosen in self.moved(draft).items():
            if not self.orders[sort].adopt(walks.get(sort)):
                self.orders[sort].touch(draft.slots[chosen])
        self._grow(int(np.count_nonzero(draft.fresh)))
        for name, value in draft.values.items():
            self._columns[name][draft.slots] = value
        self._index = draft.index
        self._delete_bodies(draft.slots)

    def moved(self, draft: "StoreUpdate") -> dict[str, NDArray[np.bool_]]:
        """Return for each sort which rows of the draft are new or get another key.

        Sorts without such rows are left out.
        """
        found = {sort: self._moved(order, draft) for sort, order in self.orders.items()}
        return {sort: chosen for sort, chosen in found.items() if chosen.any()}

    def draft_walks(self, draft: "StoreUpdate", moved: Mapping[str, NDArray[np.bool_]]) -> dict[str, NextSortedSlots]:
        """Return the walks as of after the draft is written, without a change and without the lock."""
        walks = {}
        for sort, chosen in moved.items():
            order = self.orders.get(sort)
            walk = order and order.next_walk(draft.values, chosen, draft.slots[chosen], draft.index.ranks)
            if walk:
                walks[sort] = walk
        return walks

    def _moved(self, order: SortOrder, draft: "StoreUpdate") -> NDArray[np.bool_]:
        moved = draft.fresh.copy()
        known = ~draft.fresh
        slots = draft.slots[known]
        for name in order.columns:
            moved[known] |= self._columns[name][slots] != draft.values[name][known]
        return moved

    def close(self, ids: Iterable[bytes]) -> None:
        """Close these offers, since they are gone."""
        slots = self.slots_of(np.array(list(ids), "S16"))
        slots = slots[slots >= 0]
        self._columns["count"][slots] = 0
        self._delete_bodies(slots)

    def keep(self, bodies: Mapping[UUID, bytes]) -> None:
        """Store the present JSON of these offers."""
        slots = self.slots_of(np.array([stored(key) for key in bodies], "S16")).tolist()
        self.bodies.update((slot, body) for slot, body in zip(slots, bodies.values(), strict=True) if slot >= 0)
        self.news.difference_update(slots)

    def missing(self, slots: Iterable[int]) -> list[int]:
        """Return those of the offers whose JSON is not stored."""
        return [slot for slot in slots if slot not in self.bodies]

    def make_room(self) -> None:
        """Delete the oldest bodies once there are too many."""
        if len(self.bodies) > BODIES_MAX:
            for slot in tuple(islice(self.bodies, BODIES_MAX // 4)):
                del self.bodies[slot]

    def pop_changed(self) -> list[int]:
        """Return the open offers in `news` and empty it."""
        slots = [slot for slot in self.news if self["count"][slot]]
        self.news.clear()
        return slots

    def slim(self) -> None:
        """Delete the slots of closed offers once there are too many."""
        kept = np.flatnonzero(self["count"] > 0)
        if self.size < _SPARE or self.size < _BLOATED * len(kept):
            return
        self._columns = {name: column[kept] for name, column in self._columns.items()}
        self.size = len(kept)
        self._index = SlotIndex.of(self["id"])
        self.orders.clear()
        self.bodies.clear()
        self.news.clear()

    def _delete_bodies(self, slots: NDArray[np.intp]) -> None:
        self.news.update(slot for slot in slots.tolist() if self.bodies.pop(slot, None) is not None)
        if len(self.news) > NEWS_MAX:
            self.news.clear()

    def _grow(self, by: int) -> None:
        needed = self.size + by
        if needed > len(self._columns["id"]):
            room = needed + needed // 8 + _SPARE if self.size else needed
            for name, column in self._columns.items():
                grown = np.empty(room, column.dtype)
                grown[: self.size] = column[: self.size]
                self._columns[name] = grown
        self.size = needed

    def _codes(self, records: NDArray[Any]) -> dict[str, NDArray[np.int64]]:
        return {name: self.words[name].codes(records[name]) for name in WORDS}

    def _values(self, records: NDArray[Any]) -> dict[str, NDArray[Any]]:
        values = {name: records[name] for name in records.dtype.names or () if name in _TYPES}
        codes = self._codes(records)
        values |= self._model_values(codes["gpu"])
        values |= {name: self.combinations[name].codes(group) for name, group in _groups(codes, records).items()}
        values["cuda"] = self.words["cuda"].table(version_number)[codes.pop("cuda")]
        return values | codes

    def _load_models(self) -> None:
        """Load the catalogue's facts by model code."""
        slugs = self.words["gpu"].texts
        if len(self._models["rate"]) == len(slugs):
            return
        models = [by_slug(slug) for slug in slugs]
        columns = {
            "series": [self.words["series"].code(model.series) for model in models],
            "architecture": [self.words["architecture"].code(model.architecture) for model in models],
            "fp16": [_thousandths(model.fp16_tflops) for model in models],
            "fp32": [_thousandths(model.fp32_tflops) for model in models],
            "rate": [_thousandths(model.tflops) for model in models],
        }
        self._models = {name: np.array(column, np.int64) for name, column in columns.items()}

    def _model_values(self, codes: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        models = self._models
        if codes.max(initial=-1) >= len(models["rate"]):
            raise UnknownCode
        return {name: column[codes] for name, column in models.items()}


@dataclass(frozen=True)
class StoreUpdate:
    """Rows to write: values by column, slots, which are new, and the resulting index of all offers."""

    before: SlotIndex
    values: Mapping[str, NDArray[Any]]
    slots: NDArray[np.intp]
    fresh: NDArray[np.bool_]
    index: SlotIndex


def _groups(codes: Mapping[str, NDArray[Any]], records: NDArray[Any]) -> dict[str, list[NDArray[Any]]]:
    """Return the columns of each combination."""
    traits = [records[name] for name in ("simulated", "verified", "nvlink")]
    return {
        "traits": [codes["runtime"], codes["disk"], codes["cuda"], *traits],
        "card": [codes["gpu"], records["vram"]],
        "place": [codes["region"]],
    }


def stored(key: UUID) -> bytes:
    """Return a UUID as the arrays store it: numpy's bytes end at the last one that is not zero."""
    return key.bytes.rstrip(b"\0")


def uuids(ids: Iterable[bytes]) -> list[UUID]:
    """Return the UUIDs of values in the arrays."""
    return [UUID(bytes=key.ljust(16, b"\0")) for key in ids]


def _thousandths(rate: float | None) -> int:
    return UNKNOWN if rate is None else round(rate * THOUSANDTHS)
