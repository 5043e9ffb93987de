"""Instances as rows that clients of Vast read; what they can't do without is never null."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from common.messages.rendering import english
from common.money import divide_half_up
from instances.core.endpoints import public_address, published_udp
from instances.metering.costs import InstanceCost
from marketplace.gpu_catalogue.catalogue import by_slug
from vast.constants import DAYS_PER_MONTH, HIDDEN
from vast.contracts.states import STATUSES
from vast.create.orders import template_hash
from vast.models import Kind
from vast.numbers.numbers import numbers_of
from vast.search.gpu_names import vast_name
from vast.search.places import geolocation_of
from vast.search.rows import dollars

if TYPE_CHECKING:
    from instances.models import Instance

_SSH_PORT: Final = 22
_HOURS_PER_DAY: Final = 24
_PPM: Final = 1_000_000
_RUNTYPE: Final = "ssh_direct"  # clients add one to the port of any other
_UNKNOWN_SHARE: Final = -1.0


def instance_rows(
    instances: Sequence["Instance"], bills: Mapping[Any, InstanceCost], now: datetime, *, opens: bool
) -> list[dict[str, Any]]:
    """Return the rows; host, offer, image, launch and quote must be loaded.

    The start script, which often holds keys, is included only with `opens`.
    """
    numbers = numbers_of(Kind.INSTANCE, [each.pk for each in instances])
    hosts = numbers_of(Kind.HOST, {each.host_id for each in instances})
    owners = numbers_of(Kind.USER, {each.host.owner_id for each in instances})
    return [
        {
            "id": numbers[each.pk],
            "machine_id": hosts[each.host_id],
            "host_id": owners[each.host.owner_id],
            **_state(each, now),
            **_machine(each),
            **_address(each),
            **_settings(each, opens=opens),
            **_price(each, bills[each.pk].rate_micros if each.pk in bills else each.rate_micros_per_hour),
        }
        for each in instances
    ]


def _state(each: "Instance", now: datetime) -> dict[str, Any]:
    status = STATUSES[each.state]
    began = each.started_at or each.created_at
    message = each.failure_detail or english(each.progress_message) or each.progress
    return {
        "label": each.name,
        "actual_status": status.actual,
        "cur_state": status.current,
        "intended_status": status.intended,
        "next_state": status.coming,
        "status_msg": message,
        "start_date": began.timestamp(),
        "end_date": each.release_at.timestamp() if each.release_at else None,
        "uptime_mins": max(0.0, (now - began).total_seconds() / 60) if each.started_at else 0.0,
        "is_bid": each.billing_mode == "spot",
    }


def _machine(each: "Instance") -> dict[str, Any]:
    offer, host = each.offer, each.host
    model = by_slug(offer.gpu_model)
    reliability = (host.reliability_ppm or 0) / _PPM
    return {
        "num_gpus": each.gpu_count,
        "gpu_name": vast_name(model.slug, nvlink=offer.nvlink),
        "gpu_ram": offer.vram_mb,
        "gpu_totalram": offer.vram_mb * each.gpu_count,
        "gpu_util": None,
        "gpu_frac": each.gpu_count / offer.gpu_total if offer.gpu_total else 1.0,
        "cpu_name": host.cpu_model,
        "cpu_cores": host.cpu_cores,
        "cpu_cores_effective": each.present_cpu_millis / 1000,
        "cpu_ram": host.ram_mb,
        "mem_limit": each.present_ram_mb / 1024,
        "disk_space": float(each.data_disk_gb),
        "disk_usage": None,
        "disk_util": _UNKNOWN_SHARE,
        "inet_up": float(host.net_up_mbps or 0),
        "inet_down": float(host.net_down_mbps or 0),
        "reliability2": reliability,
        "dlperf": (model.tflops or 0.0) * each.gpu_count,
        "total_flops": (model.fp32_tflops or 0.0) * each.gpu_count,
        "cuda_max_good": 0.0,
        "driver_version": host.driver,
        "verification": "verified" if host.verified else "unverified",
        "geolocation": geolocation_of(host.region),
        "hosting_type": 0,
        "volume_info": [],
    }


def _address(each: "Instance") -> dict[str, Any]:
    """Return one address in all the places where clients look: each of them takes another."""
    address, ports = public_address(each), dict(each.ports)
    found: dict[str, Any] = {
        "public_ipaddr": address,
        "local_ipaddrs": address,
        "ssh_host": address or None,
        "ssh_port": ports.get(_SSH_PORT),
        "direct_port_start": -1,
        "direct_port_end": -1,
        "direct_port_count": len(ports),
    }
    if address:
        udp = published_udp(each)
        found["ports"] = {
            f"{inside}/{protocol}": [{"HostIp": "0.0.0.0", "HostPort": str(outside)}]  # noqa: S104  (as the engine writes it)
            for inside, outside in ports.items()
            for protocol in (("tcp", "udp") if inside in udp else ("tcp",))
        }
    return found


def _settings(each: "Instance", *, opens: bool) -> dict[str, Any]:
    launch, quote = each.launch, each.quote
    env = [*launch.env.items(), *((name, HIDDEN) for name in launch.secret_names)] if launch else []
    agreed = quote.template or {}
    has_template = bool(quote.template_version)
    script = launch.on_start if launch else ""
    return {
        "image_uuid": each.image.named_as or each.image.slug,
        "image_runtype": _RUNTYPE,
        "image_args": launch.args if launch else [],
        "onstart": script if opens or not script else HIDDEN,
        "extra_env": [[name, value if opens else HIDDEN] for name, value in env],
        "template_id": None,
        "template_name": agreed.get("title"),
        "template_hash_id": template_hash(agreed["id"], agreed["version"]) if has_template and agreed else None,
    }


def _price(each: "Instance", rate_micros: int) -> dict[str, Any]:
    disk = divide_half_up(each.disk_micros_per_day, _HOURS_PER_DAY)
    return {
        "dph_base": dollars(rate_micros),
        "dph_total": dollars(rate_micros + disk),
        "storage_total_cost": dollars(disk),
        "storage_cost": dollars(each.offer.disk_micros_gb_day * DAYS_PER_MONTH),
        "min_bid": dollars((each.offer.spot_floor_micros or each.offer.price_micros) * each.gpu_count),
        "inet_up_cost": 0.0,
        "inet_down_cost": 0.0,
    }
