# Generated from the OpenAPI document by `make client`. Do not edit.

"""Shapes of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import UNSET, Struct, UnsetType


class FacetChoice(Struct, frozen=True, kw_only=True):
    """One choice of a filter.

    Attributes:
        value: Value to use in the filter
    """

    value: Any
    label: str
    count: int
    price_min: str | None


class Facets(Struct, frozen=True, kw_only=True):
    """Counts for each choice; a list ignores its own filter."""

    total: int
    hidden_by_image: int
    removed: list[Removed]
    gpu_model: list[FacetChoice]
    gpu_series: list[FacetChoice]
    architecture: list[FacetChoice]
    vram: list[FacetChoice]
    region: list[FacetChoice]
    runtime: list[FacetChoice]
    simulated: list[FacetChoice]
    verified: list[FacetChoice]
    nvlink: list[FacetChoice]
    disk_kind: list[FacetChoice]
    cuda: list[FacetChoice]
    gpu_count: list[FacetChoice]


class HistoryOut(Struct, frozen=True, kw_only=True):
    """Prices for new rentals, oldest first, starting with the first price.

    Attributes:
        changes: The first is the price at the start of the period; at most the latest 1,000
    """

    currency: str
    days: list[PriceDayOut]
    changes: list[PriceChange]


class Offer(Struct, frozen=True, kw_only=True):
    """The GPUs of one model on one host; null means not measured or not offered.

    Attributes:
        gpu_spot: Available in about two minutes, from spot instances
        system_disk_gb: Hard limit of the system disk; null: no limit
        version: Increases with each change of price or specs
        price: Per GPU-hour, disk included; null: not offered
        total: Per hour for all requested GPUs
        value: TFLOPS per unit of currency and hour
        max_lease_hours: null: no end date
    """

    id: str
    host: OfferHost
    gpu: OfferGpu
    gpu_free: int
    gpu_spot: int
    gpu_total: int
    per_gpu: PerGpu
    disk: OfferDisk
    system_disk_gb: int | None
    network: OfferNetwork
    cuda: str | None
    driver: str | None
    reliability: float | None
    listed_until: datetime | None
    prices: Prices
    version: int
    price: str | None
    total: str | None
    value: float | None
    max_lease_hours: int | None


class OfferDisk(Struct, frozen=True, kw_only=True):
    """The host's disk.

    Attributes:
        read_mbps: MB/s, median of the measurements
        samples: Measurements so far
    """

    kind: str | None
    read_mbps: float | None
    write_mbps: float | None
    free_gb: int
    measured_at: datetime | None
    samples: int


class OfferGpu(Struct, frozen=True, kw_only=True):
    """The model of the offer's GPUs."""

    model: str
    slug: str
    series: str | None
    architecture: str | None
    vram_gb: int
    fp16_tflops: float | None
    fp32_tflops: float | None
    nvlink: bool
    pcie: Pcie


class OfferHost(Struct, frozen=True, kw_only=True):
    """Host of the offer's GPUs.

    Attributes:
        runtime: docker or simulated
        simulated: The runtime or the GPUs are simulated
    """

    id: str
    name: str
    region: str
    verified: bool
    runtime: str
    simulated: bool
    state: str
    cpu_model: str | None


class OfferList(Struct, frozen=True, kw_only=True):
    """Offers for comparison, in the requested order."""

    results: list[Offer]


class OfferNetwork(Struct, frozen=True, kw_only=True):
    """The host's network link.

    Attributes:
        up_mbps: Mbit/s to the control plane, median
        samples: Measurements so far
    """

    up_mbps: float | None
    down_mbps: float | None
    measured_at: datetime | None
    samples: int


class OfferPage(Struct, frozen=True, kw_only=True):
    """A page of offers; `next` and `previous` are URLs.

    Attributes:
        total: Offers that match, on all pages
        hidden_by_image: Offers that match but can't run the image
    """

    next: str | None
    previous: str | None
    total: int
    hidden_by_image: int
    results: list[PlacedOffer]


class Pcie(Struct, frozen=True, kw_only=True):
    """The slowest PCIe link of the offer's GPUs."""

    gen: int | None
    width: int | None


class PerGpu(Struct, frozen=True, kw_only=True):
    """CPU and memory that come with each GPU."""

    cpu_cores: float
    ram_gb: float


class PlacedOffer(Struct, frozen=True, kw_only=True):
    """An offer as a search shows it.

    Attributes:
        gpu_spot: Available in about two minutes, from spot instances
        system_disk_gb: Hard limit of the system disk; null: no limit
        version: Increases with each change of price or specs
        price: Per GPU-hour, disk included; null: not offered
        total: Per hour for all requested GPUs
        value: TFLOPS per unit of currency and hour
        max_lease_hours: null: no end date
        volume: Only with `mountable_volume`
    """

    id: str
    host: OfferHost
    gpu: OfferGpu
    gpu_free: int
    gpu_spot: int
    gpu_total: int
    per_gpu: PerGpu
    disk: OfferDisk
    system_disk_gb: int | None
    network: OfferNetwork
    cuda: str | None
    driver: str | None
    reliability: float | None
    listed_until: datetime | None
    prices: Prices
    version: int
    price: str | None
    total: str | None
    value: float | None
    max_lease_hours: int | None
    volume: VolumeWayOut | UnsetType = UNSET


class PriceChange(Struct, frozen=True, kw_only=True):
    """Price per GPU-hour from a point in time."""

    at: datetime
    hourly: str
    spot_floor: str | None


class PriceDayOut(Struct, frozen=True, kw_only=True):
    """Prices per GPU-hour on one day (UTC)."""

    date: str
    low: str
    high: str
    last: str


class Prices(Struct, frozen=True, kw_only=True):
    """Decimal strings in the market's currency.

    Attributes:
        hold_hourly: Per GPU-hour while a stopped instance keeps its GPUs
    """

    hourly: str
    reserved: ReservedPrices
    tiers: list[Tier]
    spot: SpotPrices
    disk_gb_day: str | None
    free_disk_gb: int
    hold_hourly: str


class Removed(Struct, frozen=True, kw_only=True):
    """A part of the search, and how many offers would match without it.

    Attributes:
        filter: As written in a search query
        parameter: As written in a URL
        removes: Offers excluded by this condition alone
    """

    filter: str
    parameter: str
    left_without: int
    removes: int


class ReservedPrices(Struct, frozen=True, kw_only=True):
    """Prices per GPU-hour in a reserved term; null where the offer has none."""

    day: str | None
    week: str | None
    month: str | None
    year: str | None
    year3: str | None


class SpotChange(Struct, frozen=True, kw_only=True):
    """Spot price per GPU-hour from a point in time.

    Attributes:
        supply: GPUs available to spot instances
        demand: GPUs requested by bids at or above the floor
    """

    at: datetime
    price: str
    supply: int
    demand: int


class SpotHistoryOut(Struct, frozen=True, kw_only=True):
    """The spot market of one offer; prices are per GPU-hour.

    Attributes:
        floor: null: this offer has no spot market
        changes: Oldest first; the first is the price at the start of the period; at most 1,000
    """

    currency: str
    floor: str | None
    now: str | None
    low_24h: str | None
    high_24h: str | None
    changes: list[SpotChange]


class SpotPrices(Struct, frozen=True, kw_only=True):
    """The spot market of this offer; null where it has none.

    Attributes:
        now: Current spot price per GPU-hour
    """

    floor: str | None
    now: str | None


class Tier(Struct, frozen=True, kw_only=True):
    """Price per GPU-hour after this much continuous use."""

    from_hours: int
    unit_price: str


class VolumeWayOut(Struct, frozen=True, kw_only=True):
    """How the volume reaches the offer's host.

    Attributes:
        here: It is on this host
        bytes: Bytes to transfer first; 0: none
        minutes: Estimate from the hosts' measured networks; null: unknown
    """

    here: bool
    bytes: int
    minutes: int | None
