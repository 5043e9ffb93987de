"""Offers and hosts as scripts see them (design.md §9). What is not measured or not offered yet is null, never invented."""

from collections.abc import Mapping
from typing import Any

from common.ids import public_id
from common.money import format_money
from marketplace.catalogue import by_slug, nominal_vram_gb
from marketplace.models import Gpu, Host, HostEvent, Offer
from marketplace.policy import FREE_DATA_DISK_GB
from marketplace.selectors import FacetChoice, Facets

_MIB_PER_GIB = 1024


def offer_shape(row: Mapping[str, Any]) -> dict[str, Any]:
    """An offer from a row of `OfferView`'s fields."""
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
        },
        "gpu_free": row["gpu_free"],
        "gpu_total": row["gpu_total"],
        "per_gpu": {"cpu_cores": row["cpu_millis_per_gpu"] / 1000, "ram_gb": gigabytes(row["ram_mb_per_gpu"])},
        "disk": {
            "kind": row["disk_kind"] if row["disk_kind"] != "unknown" else None,
            "read_mbps": None,
            "write_mbps": None,
            "free_gb": row["disk_free_gb"],
        },
        "network": {"up_mbps": None, "down_mbps": None},
        "cuda": row["cuda"] or None,
        "driver": row["driver"] or None,
        "reliability": None,
        "max_lease_hours": None,
        "prices": _prices(row["price_micros"]),
        "version": row["version"],
    }


def _prices(hourly_micros: int) -> dict[str, Any]:
    return {
        "hourly": format_money(hourly_micros),
        "reserved": {"day": None, "week": None, "month": None, "year": None, "year3": None},
        "tiers": [],
        "spot": {"floor": None, "now": None},
        "disk_gb_day": None,
        "free_disk_gb": FREE_DATA_DISK_GB,
    }


def facets_shape(found: Facets) -> dict[str, Any]:
    return {"total": found.total} | {name: [_choice(each) for each in row] for name, row in found.choices.items()}


def _choice(choice: FacetChoice) -> dict[str, Any]:
    low = choice.price_min_micros
    price = None if low is None else format_money(low)
    return {"value": choice.value, "label": choice.label, "count": choice.count, "price_min": price}


def host_shape(host: Host) -> dict[str, Any]:
    """A host for its owner; read by `hosts_of`, so that GPUs and offers are at hand."""
    return {
        "id": public_id("host", host.pk),
        "name": host.name,
        "region": host.region,
        "state": host.state,
        "verified": host.verified,
        "draining": host.draining,
        "simulated": host.simulated,
        "runtime": host.runtime,
        "runtime_version": host.runtime_version or None,
        "address": host.address,
        "hostname": host.hostname,
        "kernel": host.kernel or None,
        "cpu_model": host.cpu_model or None,
        "cpu_cores": host.cpu_cores,
        "ram_gb": gigabytes(host.ram_mb),
        "disk": {"kind": host.disk_kind, "total_gb": host.disk_total_gb, "free_gb": host.disk_free_gb},
        "driver": host.driver or None,
        "cuda": host.cuda or None,
        "ports": {"first": host.port_first, "last": host.port_last},
        "warnings": host.warnings,
        "agent_version": host.agent_version or None,
        "engine_age_s": host.engine_age_s,
        "reliability": None,
        "enrolled_at": host.enrolled_at,
        "last_seen_at": host.last_seen_at,
        "gpus": [_gpu(gpu) for gpu in host.gpus.all()],
        "offers": [_own_offer(offer) for offer in host.offers.all()],
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
        "version": offer.version,
        "gpu_free": offer.gpu_free,
        "gpu_total": offer.gpu_total,
    }


def event_shape(event: HostEvent) -> dict[str, Any]:
    return {"at": event.at, "kind": event.kind, "detail": event.detail, "actor": event.actor}


def gigabytes(mib: int) -> float:
    return round(mib / _MIB_PER_GIB, 2)
