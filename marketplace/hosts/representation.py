"""JSON of offers and hosts (docs/search.md); what is not measured or not offered is null."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from common.ids import public_id
from common.message_words import told
from common.money import MICROS_PER_UNIT, divide_half_up, format_money
from marketplace.constants import FREE_DATA_DISK_GB
from marketplace.gpu_catalogue.catalogue import by_slug, nominal_vram_gb
from marketplace.models import Gpu, Host, HostEvent, Offer
from marketplace.pricing.prices import TERM_HOURS, discounted, spot_price_micros

_BPS = 10_000
_MIB_PER_GIB = 1024
_THOUSAND = 1_000


def offer_shape(row: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return an offer's JSON from a row of `OfferView`'s fields.

    `price` and `total` are as the search requested, or for one GPU by the hour.
    """
    price = row.get("price_all_in_micros", row["price_micros"])
    rate = row["fp16_tflops"] or row["fp32_tflops"]
    value = divide_half_up(round(rate * _THOUSAND) * MICROS_PER_UNIT, price) if rate and price else None
    return standing_shape(row) | {
        "price": format_money(price),
        "total": format_money(row.get("total_micros", price)),
        "value": None if value is None else value / _THOUSAND,
        "max_lease_hours": row["listed_until"] and max(0, (row["listed_until"] - now) // timedelta(hours=1)),
    }


def standing_shape(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of an offer's JSON that stays the same for every request until the offer changes."""
    return {
        "id": public_id("offr", row["id"]),
        "host": {
            "id": public_id("host", row["host_id"]),
            "name": row["host_name"],
            "region": row["region"],
            "verified": row["verified"],
            "runtime": row["runtime"],
            "simulated": row["simulated"],
            "state": row["host_state"],
            "cpu_model": row["cpu_model"] or None,
        },
        "gpu": {
            "model": row["gpu_name"],
            "slug": row["gpu_model"],
            "series": row["gpu_series"] or None,
            "architecture": row["gpu_architecture"] or None,
            "vram_gb": row["vram_mb"] // _MIB_PER_GIB,
            "fp16_tflops": row["fp16_tflops"],
            "fp32_tflops": row["fp32_tflops"],
            "nvlink": row["nvlink"],
            "pcie": {"gen": row["pcie_gen"] or None, "width": row["pcie_width"] or None},
        },
        **{name: row[name] for name in ("gpu_free", "gpu_spot", "gpu_total")},
        "per_gpu": {"cpu_cores": row["cpu_millis_per_gpu"] / 1000, "ram_gb": gigabytes(row["ram_mb_per_gpu"])},
        "disk": {
            "kind": row["disk_kind"] if row["disk_kind"] != "unknown" else None,
            "read_mbps": row["disk_read_mbps"],
            "write_mbps": row["disk_write_mbps"],
            "free_gb": row["disk_free_gb"],
            "measured_at": row["disk_measured_at"],
            "samples": row["disk_samples"],
        },
        "system_disk_gb": row["system_disk_gb"] or None,
        "network": {
            "up_mbps": row["net_up_mbps"],
            "down_mbps": row["net_down_mbps"],
            "measured_at": row["net_measured_at"],
            "samples": row["net_samples"],
        },
        "cuda": row["cuda"] or None,
        "driver": row["driver"] or None,
        "reliability": None if row["reliability_ppm"] is None else row["reliability_ppm"] / 1_000_000,
        "listed_until": row["listed_until"],
        "prices": _prices(row),
        "version": row["version"],
    }


def _prices(row: Mapping[str, Any]) -> dict[str, Any]:
    hourly, discounts, floor = row["price_micros"], row["reserved_discounts"], row["spot_floor_micros"]
    now = spot_price_micros(floor_micros=floor, now_micros=row["spot_now_micros"])
    return {
        "hourly": format_money(hourly),
        "reserved": {
            term: format_money(discounted(hourly, discounts[term])) if term in discounts else None for term in TERM_HOURS
        },
        "tiers": [
            {"from_hours": hours, "unit_price": format_money(discounted(hourly, off_bps))} for hours, off_bps in row["tiers"]
        ],
        "spot": {
            "floor": None if floor is None else format_money(floor),
            "now": None if now is None else format_money(now),
        },
        "disk_gb_day": format_money(row["disk_micros_gb_day"]),
        "free_disk_gb": FREE_DATA_DISK_GB,
        "hold_hourly": format_money(discounted(hourly, _BPS - row["hold_bps"])),
    }


def host_shape(host: Host) -> dict[str, Any]:
    """Return a host's JSON for its owner; it was read by `hosts_of`, so GPUs and offers are loaded."""
    return {
        "id": public_id("host", host.pk),
        "name": host.name,
        "region": host.region,
        "state": host.state,
        "verified": host.verified,
        "verification": host.verification,
        "verified_at": host.verified_at,
        "draining": host.draining,
        "simulated": host.simulated,
        "runtime": host.runtime,
        "runtime_version": host.runtime_version or None,
        "address": host.address,
        "behind_nat": host.behind_nat,
        **{"hostname": host.hostname, "kernel": host.kernel or None},
        "cpu_model": host.cpu_model or None,
        "cpu_cores": host.cpu_cores,
        "ram_gb": gigabytes(host.ram_mb),
        "disk": {
            "kind": host.disk_kind,
            "total_gb": host.disk_total_gb,
            "free_gb": host.disk_free_gb,
            "root_limit": host.root_limit or None,
            "read_mbps": host.disk_read_mbps,
            "write_mbps": host.disk_write_mbps,
            "measured_at": host.disk_measured_at,
            "samples": host.disk_samples,
        },
        "network": _network(host),
        "nvlink": host.nvlink,
        "driver": host.driver or None,
        "cuda": host.cuda or None,
        "ports": {"first": host.port_first, "last": host.port_last},
        "warnings": host.warnings,
        "agent_version": host.agent_version or None,
        "engine_age_s": host.engine_age_s,
        "reliability": None if host.reliability_ppm is None else host.reliability_ppm / 1_000_000,
        "listed_until": host.listed_until,
        "enrolled_at": host.enrolled_at,
        "agent_revoked_at": host.agent_revoked_at,
        "last_seen_at": host.last_seen_at,
        "gpus": [_gpu(gpu) for gpu in host.gpus.all()],
        "offers": [_own_offer(offer) for offer in host.offers.all()],
    }


def _network(host: Host) -> dict[str, Any]:
    return {
        "up_mbps": host.net_up_mbps,
        "down_mbps": host.net_down_mbps,
        "measured_at": host.net_measured_at,
        "samples": host.net_samples,
    }


def _gpu(gpu: Gpu) -> dict[str, Any]:
    return {
        "uuid": gpu.uuid,
        "model": by_slug(gpu.model).name,
        "slug": gpu.model,
        "name": gpu.name,
        "vram_gb": nominal_vram_gb(gpu.model, gpu.vram_mb),
        "index": gpu.index,
        "present": gpu.present,
        "healthy": gpu.healthy,
        "leased": gpu.leased,  # type: ignore[attr-defined]  # annotated by hosts_of
        "simulated": gpu.simulated,
        "detail": gpu.detail or None,
    }


def _own_offer(offer: Offer) -> dict[str, Any]:
    return {
        "id": public_id("offr", offer.pk),
        "gpu_model": offer.gpu_model,
        "listed": offer.listed,
        "price_hourly": format_money(offer.price_micros),
        **_own_prices(offer),
        "version": offer.version,
        "gpu_free": offer.gpu_free,
        "gpu_total": offer.gpu_total,
    }


def _own_prices(offer: Offer) -> dict[str, Any]:
    """Return prices as `PATCH /hosts/{id}/listing` accepts them: discounts as shares of one."""
    floor, terms = offer.spot_floor_micros, offer.reserved_discounts
    return {
        "reserved_discounts": {term: share_text(terms[term]) if term in terms else None for term in TERM_HOURS},
        "tiers": [{"from_hours": hours, "discount": share_text(off_bps)} for hours, off_bps in offer.tiers],
        "spot_floor": None if floor is None else format_money(floor),
        "disk_gb_day": format_money(offer.disk_micros_gb_day),
        "hold_share": share_text(offer.hold_bps),
    }


def share_text(off_bps: int) -> str:
    """Return basis points as a share of one: 1500 is "0.15"."""
    return f"{off_bps / _BPS:.4f}".rstrip("0").rstrip(".")


def event_shape(event: HostEvent) -> dict[str, Any]:
    return {"at": event.at, "kind": event.kind, **told(event.message, event.detail), "actor": event.actor}


def gigabytes(mib: int) -> float:
    return round(mib / _MIB_PER_GIB, 2)
