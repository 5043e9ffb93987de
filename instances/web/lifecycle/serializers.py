"""JSON of an instance's re-image, setbacks, share of the host and size."""

from typing import Any

from common.money import format_money
from instances.lifecycle.resize import Size
from instances.models import Instance

_MIB_PER_GIB = 1024


def action_shape(instance: Instance) -> dict[str, Any]:
    return {
        "without_gpu": instance.runs_without_gpus,
        "reimage": _reimage(instance),
        "setback": _setback(instance),
    }


def share_shape(instance: Instance) -> dict[str, Any]:
    return {
        "cpu_cores": instance.present_cpu_millis / 1000,
        "ram_gb": round(instance.present_ram_mb / _MIB_PER_GIB, 1),
    }


def size_shape(size: Size, now: Size) -> dict[str, Any]:
    return {
        "gpu_count": size.gpu_count,
        "data_disk_gb": size.data_disk_gb,
        "hourly_rate": format_money(size.rate_micros),
        "disk_daily": format_money(size.disk_micros_per_day),
        "hourly_rate_now": format_money(now.rate_micros),
        "disk_daily_now": format_money(now.disk_micros_per_day),
    }


def _reimage(instance: Instance) -> dict[str, Any] | None:
    if instance.former_image is None:
        return None
    return {
        "image": instance.image.slug,
        "former_image": instance.former_image.slug,
        "begun": not instance.may_keep_root,
    }


def _setback(instance: Instance) -> dict[str, Any] | None:
    if not instance.setback_code:
        return None
    return {"code": instance.setback_code, "detail": instance.setback_detail}
