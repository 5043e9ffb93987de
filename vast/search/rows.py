"""Slices of offers as rows of a search: units and names are Vast's, and no number is null."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from typing import Any, Final
from uuid import UUID

from common.money import MICROS_PER_UNIT
from instances.constants import EXTRA_PORTS_AT_MOST
from marketplace.gpu_catalogue.catalogue import GpuModel, by_slug
from marketplace.pricing.prices import all_in_micros, discounted, spot_price_micros
from vast.asks.asks import SPOT, Slice
from vast.constants import DAYS_PER_MONTH, NO_END
from vast.search.gpu_names import vast_name
from vast.search.places import geolocation_of

_PPM: Final = 1_000_000
# GB/s of a lane, by generation.
_LANE: Final = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}
# Facts that Vast has and this market does not know: they match no condition but `neq` and `notin`.
UNKNOWN: Final = (
    *("cpu_arch", "gpu_arch", "mobo_name", "ubuntu_version", "has_avx", "cpu_ghz", "gpu_max_power", "gpu_max_temp"),
    *("cluster_id", "nw_disk_min_bw", "nw_disk_avg_bw", "nw_disk_max_bw"),
)


@dataclass(frozen=True)
class Shown:
    """A slice and its row, which lacks the numbers of the ask, the host and the owner."""

    slice: Slice
    host_id: UUID
    owner_id: UUID
    row: dict[str, Any]


def shown_slice(offer: Mapping[str, Any], *, gpu_count: int, mode: str, storage_gb: float, now: datetime) -> Shown:
    """Return a slice of an offer (a row of `OfferView`'s fields) with a disk of so many GB."""
    unit = _unit_micros(offer, mode)
    # Of a spot slice too the on-demand price, which a bid without a price is limited to.
    place = Slice(offer["id"], gpu_count, mode, int(offer["price_micros"]), offer["disk_micros_gb_day"])
    row = _facts(offer, gpu_count, now) | _prices(offer, gpu_count, unit, ceil(storage_gb)) | {"is_bid": mode == SPOT}
    row["dlperf_per_dphtotal"] = _ratio(row["dlperf"], row["dph_total"])
    row["flops_per_dphtotal"] = _ratio(row["total_flops"], row["dph_total"])
    row["score"] = row["dlperf_per_dphtotal"]
    return Shown(place, offer["host_id"], offer["owner_id"], row)


def dollars(micros: int) -> float:
    """Return micro-units as the number that Vast's JSON has."""
    return micros / MICROS_PER_UNIT


def _unit_micros(offer: Mapping[str, Any], mode: str) -> int:
    spot = spot_price_micros(floor_micros=offer["spot_floor_micros"], now_micros=offer["spot_now_micros"])
    return int(offer["price_micros"]) if mode != SPOT or spot is None else spot


def _prices(offer: Mapping[str, Any], gpu_count: int, unit: int, disk_gb: int) -> dict[str, Any]:
    priced = {"disk_micros_gb_day": offer["disk_micros_gb_day"], "data_disk_gb": disk_gb, "gpu_count": gpu_count}
    base, total = unit * gpu_count, all_in_micros(unit_micros=unit, **priced)[1]
    off_bps = max(offer["reserved_discounts"].values(), default=0)
    reserved = all_in_micros(unit_micros=discounted(offer["price_micros"], off_bps), **priced)[1]
    least = _unit_micros(offer, SPOT) * gpu_count
    return {
        "dph_base": dollars(base),
        "dph_total": dollars(total),
        "dph_total_adj": dollars(total),
        "discounted_dph_total": dollars(reserved),
        "discount_rate": off_bps / 10_000,
        "min_bid": dollars(least),
        "storage_cost": dollars(offer["disk_micros_gb_day"] * DAYS_PER_MONTH),
        "storage_total_cost": dollars(total - base),
        "inet_up_cost": 0.0,
        "inet_down_cost": 0.0,
        "search": {
            "gpuCostPerHour": dollars(base),
            "diskHour": dollars(total - base),
            "totalHour": dollars(total),
            "discountTotalHour": dollars(total - reserved),
            "discountedTotalPerHour": dollars(reserved),
        },
    }


def _facts(offer: Mapping[str, Any], gpu_count: int, now: datetime) -> dict[str, Any]:
    left = (offer["listed_until"] - now) if offer["listed_until"] else NO_END
    reliability = (offer["reliability_ppm"] or 0) / _PPM
    whole = offer["gpu_total"]
    return {
        "num_gpus": gpu_count,
        "gpu_frac": gpu_count / whole if whole else 1.0,
        "gpu_ids": [],
        **_gpu_facts(offer, gpu_count),
        "cpu_cores": offer["cpu_millis_per_gpu"] * whole // 1000,
        "cpu_cores_effective": offer["cpu_millis_per_gpu"] * gpu_count / 1000,
        "cpu_ram": offer["ram_mb_per_gpu"] * whole,
        "cpu_name": offer["cpu_model"],
        "disk_name": offer["disk_kind"],
        "disk_space": float(offer["disk_free_gb"]),
        "disk_bw": float(min(offer["disk_read_mbps"] or 0, offer["disk_write_mbps"] or 0)),
        "inet_up": float(offer["net_up_mbps"] or 0),
        "inet_down": float(offer["net_down_mbps"] or 0),
        "reliability": reliability,
        "reliability2": reliability,
        "duration": max(0.0, left.total_seconds()),
        "end_date": (now + left).timestamp(),
        "start_date": offer["created_at"].timestamp(),
        "cuda_max_good": _number(offer["cuda"]),
        "driver_version": offer["driver"],
        "driver_vers": driver_number(offer["driver"]),
        "direct_port_count": EXTRA_PORTS_AT_MOST,
        "hosting_type": 0,
        "datacenter": False,
        "static_ip": True,
        "external": False,
        "rentable": True,
        "rented": False,
        "vms_enabled": False,
        "gpu_display_active": False,
        "verification": "verified" if offer["verified"] else "unverified",
        "verified": bool(offer["verified"]),
        "geolocation": geolocation_of(offer["region"]),
        **dict.fromkeys(UNKNOWN),
        "cpu_ghz": 0.0,
    }


def _gpu_facts(offer: Mapping[str, Any], gpu_count: int) -> dict[str, Any]:
    model = by_slug(offer["gpu_model"])
    return {
        "gpu_name": vast_name(model.slug, nvlink=offer["nvlink"]),
        "gpu_slug": model.slug,
        "gpu_ram": offer["vram_mb"],
        "gpu_total_ram": offer["vram_mb"] * gpu_count,
        "gpu_mem_bw": float(_bandwidth(model, offer["vram_mb"])),
        "bw_nvlink": (model.nvlink_gbps or 0.0) if offer["nvlink"] else 0.0,
        "compute_cap": round(_number(model.compute) * 100),
        "total_flops": (model.fp32_tflops or 0.0) * gpu_count,
        "dlperf": (model.tflops or 0.0) * gpu_count,
        "pci_gen": float(offer["pcie_gen"]),
        "gpu_lanes": offer["pcie_width"],
        "pcie_bw": _LANE.get(offer["pcie_gen"], 0.0) * offer["pcie_width"],
    }


def _bandwidth(model: GpuModel, vram_mb: int) -> int:
    by_size = dict(zip(model.vram_gb, model.bandwidth_gbps, strict=False))
    return by_size.get(vram_mb // 1024, 0)


def _number(text: str) -> float:
    """Return the first two parts of a version as a number: 12.8 of "12.8.1", 0 of no version."""
    parts = text.split(".")[:2]
    return float(".".join(parts)) if parts and all(part.isascii() and part.isdecimal() for part in parts) else 0.0


def driver_number(text: str) -> int:
    """Return a driver's version as Vast compares it: 535086005 of "535.86.5", 0 of no version."""
    parts = [*text.split(".")[:3], "0", "0"][:3]
    if not all(part.isascii() and part.isdecimal() and len(part) <= 3 for part in parts):  # noqa: PLR2004  (digits)
        return 0
    major, minor, patch = map(int, parts)
    return (major * 1000 + minor) * 1000 + patch


def _ratio(amount: float, price: float) -> float:
    return amount / price if price else 0.0
