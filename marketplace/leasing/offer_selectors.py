"""Reads of offers by their ids, open or not, with the catalogue's facts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F

from common.db.prepared import run
from common.errors import NotFound
from marketplace.gpu_catalogue.catalogue import by_slug
from marketplace.models import Offer

_MIB_PER_GIB = 1024


@dataclass(frozen=True)
class OfferPage:
    """Page of offers as rows of `OfferView`'s fields, with cursors of the pages around it.

    A cursor is None where there is no such page. A search adds to each row what it costs as requested
    (`price_all_in_micros`, `total_micros`), and counts all results.
    """

    offers: list[dict[str, Any]]
    next: str | None = None
    previous: str | None = None
    total: int = 0


@dataclass(frozen=True)
class OfferView:
    """One offer: every column, the owner of its host, and the catalogue's facts about its GPU model."""

    id: UUID
    host_id: UUID
    gpu_model: str
    region: str
    runtime: str
    simulated: bool
    host_name: str
    host_state: str
    draining: bool
    verified: bool
    reliability_ppm: int | None
    listed_until: datetime | None
    cpu_model: str
    driver: str
    cuda: str
    nvlink: bool
    pcie_gen: int
    pcie_width: int
    disk_kind: str
    disk_free_gb: int
    system_disk_gb: int
    disk_read_mbps: int | None
    disk_write_mbps: int | None
    disk_measured_at: datetime | None
    disk_samples: int
    net_up_mbps: int | None
    net_down_mbps: int | None
    net_measured_at: datetime | None
    net_samples: int
    listed: bool
    version: int
    price_micros: int
    reserved_discounts: dict[str, int]
    tiers: list[list[int]]
    spot_floor_micros: int | None
    spot_now_micros: int | None
    disk_micros_gb_day: int
    hold_bps: int
    gpu_spot: int
    gpu_total: int
    gpu_free: int
    vram_mb: int
    cpu_millis_per_gpu: int
    ram_mb_per_gpu: int
    created_at: datetime
    owner_id: UUID
    gpu_name: str
    gpu_series: str
    gpu_architecture: str
    fp16_tflops: float | None
    fp32_tflops: float | None

    @property
    def gpu_orderable(self) -> int:
        """Return GPUs that are free now, or about two minutes after an order, when spot rents have ended."""
        return self.gpu_free + self.gpu_spot

    @property
    def vram_gb(self) -> int:
        return self.vram_mb // _MIB_PER_GIB


_OF_HOST = {"owner_id": F("host__owner_id")}
_JSON = ("reserved_discounts", "tiers")  # as text, which the ORM would parse
_OF_CATALOGUE = ("gpu_name", "gpu_series", "gpu_architecture", "fp16_tflops", "fp32_tflops")
_OWN = tuple(each.name for each in fields(OfferView) if each.name not in (*_OF_HOST, *_OF_CATALOGUE))


def offer_view(offer_id: UUID) -> OfferView:
    """Return one offer, open or not.

    Raises:
        NotFound: there is no such offer.
    """
    row = Offer.objects.filter(pk=offer_id).values(*_OWN, **_OF_HOST).first()
    if row is None:
        raise NotFound("This offer doesn't exist.")
    return OfferView(**_named(row))


def view_of(row: Mapping[str, Any]) -> OfferView:
    """Return a row of `rows_of` or of a search as an offer."""
    return OfferView(**{each.name: row[each.name] for each in fields(OfferView)})


def rows_of(ids: Sequence[UUID]) -> dict[UUID, dict[str, Any]]:
    """Return these offers, open or not, as rows of `OfferView`'s fields."""
    statement, names = _rows_statement()
    with connection.cursor() as cursor:
        run(cursor, statement, [list(ids)])
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return {row["id"]: _named(row | {name: json.loads(row[name]) for name in _JSON}) for row in rows}


@cache
def _rows_statement() -> tuple[str, list[str]]:
    """Return the statement, composed by the ORM once.

    A page whose offers change all the time reads some of them at every search.
    """
    query = Offer.objects.filter(pk__in=[UUID(int=0)]).values(*_OWN, **_OF_HOST).query
    text, _ = query.sql_with_params()
    return text.replace("IN (%s)", "= ANY (%s::uuid[])"), [*query.values_select, *query.annotation_select]


def _named(row: dict[str, Any]) -> dict[str, Any]:
    model = by_slug(row["gpu_model"])
    row["gpu_name"], row["gpu_series"], row["gpu_architecture"] = model.name, model.series, model.architecture
    row["fp16_tflops"], row["fp32_tflops"] = model.fp16_tflops, model.fp32_tflops
    return row
