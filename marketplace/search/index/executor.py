"""Execution of one search over the rows in memory: matches, and the effect of each condition."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce

import numpy as np

from marketplace.pricing.offer_requirements import NO_IMAGE, needs_of
from marketplace.search.index.column_store import ColumnStore, stored
from marketplace.search.index.cuda_versions import gpus_without
from marketplace.search.index.filters import Mask, mask_of
from marketplace.search.index.price_columns import PriceColumns
from marketplace.search.language.fields import Condition, OfferQuery

What = Condition | str


@dataclass(frozen=True)
class Removed:
    """Number of offers that would match without this condition, or without the option of this name."""

    what: What
    left_without: int


class SearchExecution:
    """One search; `parts` must all hold: options by name, then the conditions. Only open offers are found."""

    def __init__(self, store: ColumnStore, query: OfferQuery, now: datetime) -> None:
        self.store, self.query = store, query
        self.price_columns = PriceColumns(store, query, now)
        self._open = np.greater_equal(store["count"], 1)
        self.parts: list[tuple[What, Mask]] = self._option_masks()
        self.parts += [(each, mask_of(each, store, self.price_columns)) for each in query.conditions]
        self._terms = [_term_of(what) for what, _ in self.parts]
        self.fits = self._all(self.parts)
        self.total = int(np.count_nonzero(self.fits))

    def fits_but_for(self, term: str) -> Mask:
        """Return matches as if nothing were asked about this term.

        The option for a number of GPUs is about `count`.
        """
        if term not in self._terms:
            return self.fits
        return self._all([part for part, about in zip(self.parts, self._terms, strict=True) if about != term])

    def removed(self) -> list[Removed]:
        found = []
        for place, (what, _) in enumerate(self.parts):
            rest = self._all([*self.parts[:place], *self.parts[place + 1 :]])
            found.append(Removed(what, int(np.count_nonzero(rest))))
        return found

    def count_instead(self, condition: Condition) -> int:
        """Return how many offers would match if only this condition were asked about its term."""
        rest = self.fits_but_for(condition.term)
        return int(np.count_nonzero(rest & mask_of(condition, self.store, self.price_columns)))

    def _option_masks(self) -> list[tuple[What, Mask]]:
        query, masks = self.query, list[tuple[What, Mask]]()
        needs = needs_of(gpu_count=query.gpu_count, data_disk_gb=query.data_disk_gb)
        if query.gpu_count > 1:
            masks.append(("gpu_count", needs.gpus_suffice(self.store["count"])))
        if query.data_disk_gb:
            masks.append(("data_disk_gb", needs.disk_suffices(self.store["disk_free"])))
        if self.price_columns.sells is not None:
            masks.append(("billing_mode", self.price_columns.sells))
        if query.image_needs != NO_IMAGE:
            masks.append(("image", self._fits_image()))
        return masks

    def _fits_image(self) -> Mask:
        needs = self.query.image_needs
        fits: Mask = needs.driver_suffices(self.store["cuda"])
        known = self.store.words["gpu"].known
        old = [code for code in map(known, gpus_without(needs.cuda)) if code is not None]
        if old:
            fits &= ~np.isin(self.store["gpu"], old)
        if needs.room_gb:
            fits &= needs.room_suffices(self.store["disk_free"], self.query.data_disk_gb)
        if needs.host_id is not None:
            fits &= self.store["host"] == stored(needs.host_id)
        return fits

    def _all(self, parts: Sequence[tuple[What, Mask]]) -> Mask:
        return reduce(np.logical_and, (mask for _, mask in parts), self._open)


def _term_of(what: What) -> str:
    if isinstance(what, Condition):
        return what.term
    return "count" if what == "gpu_count" else ""
