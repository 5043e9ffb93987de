"""Offers as the API shows them (docs/search.md); what is not measured or not offered is null."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any

from common.ids import public_id
from common.money import MICROS_PER_UNIT, divide_half_up, format_money, money_or_none
from common.resources import resource
from marketplace.constants import FREE_DATA_DISK_GB
from marketplace.pricing.prices import TERM_HOURS, discounted, spot_price_micros

_BPS = 10_000
_MIB_PER_GIB = 1024
_THOUSAND = 1_000


@resource
class OfferHost:
    """Host of the offer's GPUs."""

    id: str
    name: str
    region: str
    verified: bool
    runtime: Annotated[str, "docker or simulated"]
    simulated: Annotated[bool, "The runtime or the GPUs are simulated"]
    state: str
    cpu_model: str | None


@resource
class Pcie:
    """The slowest PCIe link of the offer's GPUs."""

    gen: int | None
    width: int | None


@resource
class OfferGpu:
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


@resource
class PerGpu:
    """CPU and memory that come with each GPU."""

    cpu_cores: float
    ram_gb: float


@resource
class OfferDisk:
    """The host's disk."""

    kind: str | None
    read_mbps: Annotated[float | None, "MB/s, median of the measurements"]
    write_mbps: float | None
    free_gb: int
    measured_at: datetime | None
    samples: Annotated[int, "Measurements so far"]


@resource
class OfferNetwork:
    """The host's network link."""

    up_mbps: Annotated[float | None, "Mbit/s to the control plane, median"]
    down_mbps: float | None
    measured_at: datetime | None
    samples: Annotated[int, "Measurements so far"]


@resource
class ReservedPrices:
    """Prices per GPU-hour in a reserved term; null where the offer has none."""

    day: str | None
    week: str | None
    month: str | None
    year: str | None
    year3: str | None


@resource
class Tier:
    """Price per GPU-hour after this much continuous use."""

    from_hours: int
    unit_price: str


@resource
class SpotPrices:
    """The spot market of this offer; null where it has none."""

    floor: str | None
    now: Annotated[str | None, "Current spot price per GPU-hour"]


@resource
class Prices:
    """Decimal strings in the market's currency."""

    hourly: str
    reserved: ReservedPrices
    tiers: list[Tier]
    spot: SpotPrices
    disk_gb_day: str | None
    free_disk_gb: int
    hold_hourly: Annotated[str, "Per GPU-hour while a stopped instance keeps its GPUs"]


@resource
class StandingOffer:
    """The part of an offer that stays the same for every request until the offer changes."""

    id: str
    host: OfferHost
    gpu: OfferGpu
    gpu_free: int
    gpu_spot: Annotated[int, "Available in about two minutes, from spot instances"]
    gpu_total: int
    per_gpu: PerGpu
    disk: OfferDisk
    system_disk_gb: Annotated[int | None, "Hard limit of the system disk; null: no limit"]
    network: OfferNetwork
    cuda: str | None
    driver: str | None
    reliability: float | None
    listed_until: datetime | None
    prices: Prices
    version: Annotated[int, "Increases with each change of price or specs"]


@resource
class Offer(StandingOffer):
    """The GPUs of one model on one host; null means not measured or not offered."""

    price: Annotated[str | None, "Per GPU-hour, disk included; null: not offered"]
    total: Annotated[str | None, "Per hour for all requested GPUs"]
    value: Annotated[float | None, "TFLOPS per unit of currency and hour"]
    max_lease_hours: Annotated[int | None, "null: no end date"]


def offer_resource(row: Mapping[str, Any], now: datetime) -> Offer:
    """Return an offer's JSON from a row of `OfferView`'s fields.

    `price` and `total` are as the search requested, or for one GPU by the hour.
    """
    price = row.get("price_all_in_micros", row["price_micros"])
    rate = row["fp16_tflops"] or row["fp32_tflops"]
    value = divide_half_up(round(rate * _THOUSAND) * MICROS_PER_UNIT, price) if rate and price else None
    return Offer(
        **vars(standing_offer(row)),
        price=format_money(price),
        total=format_money(row.get("total_micros", price)),
        value=None if value is None else value / _THOUSAND,
        max_lease_hours=row["listed_until"] and max(0, (row["listed_until"] - now) // timedelta(hours=1)),
    )


def standing_offer(row: Mapping[str, Any]) -> StandingOffer:
    """Return the part of an offer's JSON that stays the same for every request until the offer changes."""
    return StandingOffer(
        id=public_id("offr", row["id"]),
        host=OfferHost(
            id=public_id("host", row["host_id"]),
            name=row["host_name"],
            region=row["region"],
            verified=row["verified"],
            runtime=row["runtime"],
            simulated=row["simulated"],
            state=row["host_state"],
            cpu_model=row["cpu_model"] or None,
        ),
        gpu=_gpu(row),
        gpu_free=row["gpu_free"],
        gpu_spot=row["gpu_spot"],
        gpu_total=row["gpu_total"],
        per_gpu=PerGpu(cpu_cores=row["cpu_millis_per_gpu"] / 1000, ram_gb=gigabytes(row["ram_mb_per_gpu"])),
        disk=OfferDisk(
            kind=row["disk_kind"] if row["disk_kind"] != "unknown" else None,
            read_mbps=row["disk_read_mbps"],
            write_mbps=row["disk_write_mbps"],
            free_gb=row["disk_free_gb"],
            measured_at=row["disk_measured_at"],
            samples=row["disk_samples"],
        ),
        system_disk_gb=row["system_disk_gb"] or None,
        network=OfferNetwork(
            up_mbps=row["net_up_mbps"],
            down_mbps=row["net_down_mbps"],
            measured_at=row["net_measured_at"],
            samples=row["net_samples"],
        ),
        cuda=row["cuda"] or None,
        driver=row["driver"] or None,
        reliability=None if row["reliability_ppm"] is None else row["reliability_ppm"] / 1_000_000,
        listed_until=row["listed_until"],
        prices=_prices(row),
        version=row["version"],
    )


def _gpu(row: Mapping[str, Any]) -> OfferGpu:
    return OfferGpu(
        model=row["gpu_name"],
        slug=row["gpu_model"],
        series=row["gpu_series"] or None,
        architecture=row["gpu_architecture"] or None,
        vram_gb=row["vram_mb"] // _MIB_PER_GIB,
        fp16_tflops=row["fp16_tflops"],
        fp32_tflops=row["fp32_tflops"],
        nvlink=row["nvlink"],
        pcie=Pcie(gen=row["pcie_gen"] or None, width=row["pcie_width"] or None),
    )


def _prices(row: Mapping[str, Any]) -> Prices:
    hourly, discounts, floor = row["price_micros"], row["reserved_discounts"], row["spot_floor_micros"]
    now = spot_price_micros(floor_micros=floor, now_micros=row["spot_now_micros"])
    return Prices(
        hourly=format_money(hourly),
        reserved=ReservedPrices(
            **{term: format_money(discounted(hourly, discounts[term])) if term in discounts else None for term in TERM_HOURS}
        ),
        tiers=[
            Tier(from_hours=hours, unit_price=format_money(discounted(hourly, off_bps))) for hours, off_bps in row["tiers"]
        ],
        spot=SpotPrices(floor=money_or_none(floor), now=money_or_none(now)),
        disk_gb_day=format_money(row["disk_micros_gb_day"]),
        free_disk_gb=FREE_DATA_DISK_GB,
        hold_hourly=format_money(discounted(hourly, _BPS - row["hold_bps"])),
    )


def gigabytes(mib: int) -> float:
    return round(mib / _MIB_PER_GIB, 2)
