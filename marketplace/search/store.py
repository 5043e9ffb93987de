"""The open offers of the market in memory: one array for each thing that can be asked, one slot for each offer."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from marketplace.catalogue import by_slug
from marketplace.search.layout import TERMS_SOLD, UNKNOWN, WORDS
from marketplace.search.orders import Order
from marketplace.search.versions import version_number
from marketplace.search.words import Combinations, Words

THOUSANDTHS: Final = 1_000
NEWS_MAX: Final = 500  # as JSON in about 15 ms
BODIES_MAX: Final = 20_000  # about a kilobyte each
_SPARE: Final = 1_024
_BLOATED: Final = 2  # times as many slots as open offers
_TYPES: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("id", "host"), "S16"),
    **dict.fromkeys(("gpu", "region", "disk"), np.int32),
    **dict.fromkeys(("runtime", "series", "architecture"), np.uint16),
    **dict.fromkeys(("simulated", "verified", "nvlink", "tiered"), np.bool_),
    **dict.fromkeys(("count", "gpu_total", "vram", "cpu", "ram", "disk_free"), np.int32),
    **dict.fromkeys(("disk_read", "disk_write", "net_up", "net_down", "reliability", "fp16", "fp32", "rate"), np.int32),
    **dict.fromkeys(("lease_hours", "created", "hourly", "spot", "disk_price", "cuda"), np.int64),
    **dict.fromkeys((f"off_{term}" for term in TERMS_SOLD), np.int16),
    # Codes of combinations, as wide as numpy counts them fastest.
    **dict.fromkeys(("card", "place", "traits"), np.intp),
}


class Store:
    """Slots stay where they are while an offer is rented and comes back, so that most changes touch a few numbers alone.

    An offer that closes keeps its slot with `count` 0: no search takes it.
    """

    def __init__(self) -> None:
        self.size = 0
        self.words: dict[str, Words] = {name: Words() for name in (*WORDS, "series", "architecture")}
        self.combinations: dict[str, Combinations] = {
            "card": Combinations(("gpu", "vram"), (31, 32)),
            "place": Combinations(("region",), (31,)),
            "traits": Combinations(("runtime", "disk", "cuda", "simulated", "verified", "nvlink"), (16, 20, 20, 1, 1, 1)),
        }
        self.orders: dict[str, Order] = {}
        # What others keep beside it: offers' JSON by slot, until the offer changes; what follows from the words alone.
        self.bodies: dict[int, bytes] = {}
        self.news: set[int] = set()  # offers that somebody was shown and that changed since; none where they were many
        self.kept: dict[str, Any] = {}
        self._columns: dict[str, NDArray[Any]] = {name: np.empty(0, kind) for name, kind in _TYPES.items()}
        self._sorted_ids: NDArray[np.bytes_] = np.empty(0, "S16")
        self._sorted_slots: NDArray[np.int32] = np.empty(0, np.int32)
        self._ranks: NDArray[np.int32] | None = None
        self._models: dict[str, NDArray[np.int64]] = {"rate": np.empty(0, np.int64)}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name][: self.size]

    # -- what it holds

    def slots_of(self, ids: NDArray[np.bytes_]) -> NDArray[np.intp]:
        """-1 for those that have none."""
        if not self.size:
            return np.full(len(ids), -1, np.intp)
        places = np.minimum(np.searchsorted(self._sorted_ids, ids), self.size - 1)
        return np.where(self._sorted_ids[places] == ids, self._sorted_slots[places], -1).astype(np.intp)

    def uuids(self, slots: Sequence[int]) -> list[UUID]:
        return uuids(self._columns["id"][slots].tolist())

    def ranks(self) -> NDArray[np.int32]:
        """Each slot's place among the ids."""
        if self._ranks is None:
            self._ranks = np.empty(self.size, np.int32)
            self._ranks[self._sorted_slots] = np.arange(self.size, dtype=np.int32)
        return self._ranks

    def rank_of(self, key: bytes, *, after: bool) -> int:
        return int(np.searchsorted(self._sorted_ids, key, side="right" if after else "left"))

    # -- how it changes

    def put(self, records: NDArray[Any]) -> None:
        """Write these offers down, new or changed; of closed ones only those that have a slot."""
        slots = self.slots_of(records["id"])
        wanted = (slots >= 0) | (records["count"] > 0)
        records, slots = records[wanted], slots[wanted]
        if not len(records):
            return
        fresh = slots < 0
        slots[fresh] = np.arange(self.size, self.size + np.count_nonzero(fresh))
        self._grow(int(np.count_nonzero(fresh)))
        self._write(self._values(records), slots, fresh)
        self._index(slots[fresh])
        self._drop_bodies(slots)

    def close(self, ids: Iterable[bytes]) -> None:
        """These offers are gone."""
        slots = self.slots_of(np.array(list(ids), "S16"))
        slots = slots[slots >= 0]
        self._columns["count"][slots] = 0
        self._drop_bodies(slots)

    def keep(self, bodies: Mapping[UUID, bytes]) -> None:
        """The JSON of these offers, as they are now."""
        slots = self.slots_of(np.array([stored(key) for key in bodies], "S16")).tolist()
        self.bodies.update((slot, body) for slot, body in zip(slots, bodies.values(), strict=True) if slot >= 0)
        self.news.difference_update(slots)

    def make_room(self) -> None:
        """Let go of the oldest bodies once there are too many."""
        if len(self.bodies) > BODIES_MAX:
            for slot in tuple(islice(self.bodies, BODIES_MAX // 4)):
                del self.bodies[slot]

    def take_news(self) -> list[int]:
        """The open ones of `news`, which is empty afterwards."""
        slots = [slot for slot in self.news if self["count"][slot]]
        self.news.clear()
        return slots

    def repair(self, sort: str) -> None:
        """Bring the walk of this order, if it is still kept, up to date with the rows."""
        if sort in self.orders:
            self.orders[sort].repair(self["id"], self.ranks)

    def slim(self) -> None:
        """Drop the slots of closed offers once they are too many."""
        kept = np.flatnonzero(self["count"] > 0)
        if self.size < _SPARE or self.size < _BLOATED * len(kept):
            return
        self._columns = {name: column[kept] for name, column in self._columns.items()}
        self.size, self._ranks = len(kept), None
        self._sorted_slots = np.argsort(self["id"], kind="stable").astype(np.int32)
        self._sorted_ids = self["id"][self._sorted_slots]
        self.orders.clear()
        self.bodies.clear()
        self.news.clear()

    def _drop_bodies(self, slots: NDArray[np.intp]) -> None:
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

    def _write(self, values: Mapping[str, NDArray[Any]], slots: NDArray[np.intp], fresh: NDArray[np.bool_]) -> None:
        moved = {
            name: slots[fresh | (self._columns[name][slots] != values[name])]
            for name in {column for order in self.orders.values() for column in order.columns}
        }
        for name, value in values.items():
            self._columns[name][slots] = value
        for order in self.orders.values():
            for name in order.columns:
                if len(moved[name]):
                    order.touch(moved[name])

    def _values(self, records: NDArray[Any]) -> dict[str, NDArray[Any]]:
        values = {name: records[name] for name in records.dtype.names or () if name in _TYPES}
        codes = {name: self.words[name].codes(records[name]) for name in WORDS}
        values |= {name: table[codes["gpu"]] for name, table in self._by_model().items()}
        traits = [records[name] for name in ("simulated", "verified", "nvlink")]
        group = [codes["runtime"], codes["disk"], codes["cuda"], *traits]
        values["traits"] = self.combinations["traits"].codes(group)
        values["card"] = self.combinations["card"].codes([codes["gpu"], records["vram"]])
        values["place"] = self.combinations["place"].codes([codes["region"]])
        values["cuda"] = self.words["cuda"].table(version_number)[codes.pop("cuda")]
        return values | codes

    def _by_model(self) -> dict[str, NDArray[np.int64]]:
        """What the catalogue knows, by code of the model; made anew when a model is met for the first time."""
        slugs, kept = self.words["gpu"].texts, self._models
        if len(kept["rate"]) < len(slugs):
            models = [by_slug(slug) for slug in slugs]
            columns = {
                "series": [self.words["series"].code(model.series) for model in models],
                "architecture": [self.words["architecture"].code(model.architecture) for model in models],
                "fp16": [_thousandths(model.fp16_tflops) for model in models],
                "fp32": [_thousandths(model.fp32_tflops) for model in models],
                "rate": [_thousandths(model.tflops) for model in models],
            }
            kept = self._models = {name: np.array(column, np.int64) for name, column in columns.items()}
        return kept

    def _index(self, slots: NDArray[np.intp]) -> None:
        if not len(slots):
            return
        ids = self._columns["id"][slots]
        order = np.argsort(ids)
        ids, slots = ids[order], slots[order]
        places = np.searchsorted(self._sorted_ids, ids)
        self._sorted_ids = np.insert(self._sorted_ids, places, ids)
        self._sorted_slots = np.insert(self._sorted_slots, places, slots).astype(np.int32)
        self._ranks = None


def stored(key: UUID) -> bytes:
    """A UUID as the arrays hold it: numpy's bytes end at the last one that is not zero."""
    return key.bytes.rstrip(b"\0")


def uuids(ids: Iterable[bytes]) -> list[UUID]:
    """The UUIDs behind what the arrays hold."""
    return [UUID(bytes=key.ljust(16, b"\0")) for key in ids]


def _thousandths(rate: float | None) -> int:
    return UNKNOWN if rate is None else round(rate * THOUSANDTHS)
