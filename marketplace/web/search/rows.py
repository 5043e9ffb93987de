"""Offers as rows and cards: prices for the chosen GPUs and disk, and measured values or a dash."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from common import clock
from common.ids import public_id
from marketplace.constants import FREE_DATA_DISK_GB
from marketplace.pricing.offer_requirements import Needs, has_system_disk, needs_of
from marketplace.search.language.fields import OfferQuery
from marketplace.search.messages import DISK_LABELS, percent_text_of_ppm
from marketplace.search.volume_locality import VolumeWayOut

_MIB_PER_GIB: Final = 1024
_BPS: Final = 10_000


@dataclass(frozen=True)
class OfferRow:
    """One offer under one search; `row` is a row of `search_offers`."""

    row: Mapping[str, Any]
    query: OfferQuery
    picked: bool = False
    way: VolumeWayOut | None = None

    def __getattr__(self, name: str) -> Any:
        """Return plain columns unchanged."""
        try:
            return self.row[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def key(self) -> str:
        return public_id("offr", self.row["id"])

    @property
    def host_key(self) -> str:
        return public_id("host", self.row["host_id"])

    @property
    def count(self) -> int:
        return self.query.gpu_count

    @property
    def vram_gb(self) -> int:
        return int(self.row["vram_mb"] // _MIB_PER_GIB)

    @property
    def cpu_millis(self) -> int:
        return int(self.row["cpu_millis_per_gpu"] * self.count)

    @property
    def ram_mb(self) -> int:
        return int(self.row["ram_mb_per_gpu"] * self.count)

    @property
    def gpu_orderable(self) -> int:
        return int(self.row["gpu_free"] + self.row["gpu_spot"])

    @property
    def has_room(self) -> bool:
        """Return whether its host has room for another root and the requested data disk."""
        free_gb = int(self.row["disk_free_gb"])
        rooted = has_system_disk(system_disk_gb=self.row["system_disk_gb"], disk_free_gb=free_gb)
        return rooted and bool(self._needs.disk_suffices(free_gb))

    @property
    def is_orderable(self) -> bool:
        """Return whether the requested GPUs and disk can be ordered, as in the market and in quotes."""
        return self.has_room and bool(self._needs.gpus_suffice(self.gpu_orderable))

    @property
    def is_soon(self) -> bool:
        """Return whether too few GPUs are free, but spot rents would make room for an order."""
        return int(self.row["gpu_free"]) < self.count <= self.gpu_orderable

    @property
    def disk_label(self) -> str:
        kind = self.row["disk_kind"]
        return "" if kind == "unknown" else DISK_LABELS.get(kind, kind.upper())

    @property
    def reliability_percent(self) -> str:
        return percent_text_of_ppm(self.row["reliability_ppm"])

    @property
    def leaves_at(self) -> datetime | None:
        moment: datetime | None = self.row["listed_until"]
        return moment

    @property
    def days_left(self) -> int:
        """Return whole days until the host leaves."""
        return max(0, (self.leaves_at - clock.now()).days) if self.leaves_at else 0

    @property
    def tier(self) -> tuple[int, int] | None:
        """Return the first step of the tiered mode: hours, and percentage off."""
        if self.query.billing_mode != "tiered" or not self.row["tiers"]:
            return None
        hours, off_bps = self.row["tiers"][0]
        return int(hours), int(off_bps * 100 // _BPS)

    @property
    def disk_in_price(self) -> bool:
        return self.query.data_disk_gb > FREE_DATA_DISK_GB

    @property
    def _needs(self) -> Needs:
        return needs_of(gpu_count=self.count, data_disk_gb=self.query.data_disk_gb)


def offer_rows(rows: Sequence[Mapping[str, Any]], query: OfferQuery, picks: Sequence[UUID] = ()) -> list[OfferRow]:
    return [OfferRow(row, query, row["id"] in picks) for row in rows]


def rent_query(query: OfferQuery) -> str:
    """Return the options of a search as parameters of the rent page."""
    options = {
        "gpu_count": query.gpu_count,
        "billing_mode": query.billing_mode,
        "term": query.term if query.billing_mode == "reserved" else "",
        "data_disk_gb": query.data_disk_gb or "",
        "image": query.image,
    }
    return urlencode({name: value for name, value in options.items() if value})
