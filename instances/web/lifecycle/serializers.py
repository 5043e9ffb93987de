"""Serializers of re-imaging, resizing, setbacks and the share of the host."""

from typing import Any

from rest_framework import serializers

from common.http.fields import AmountText
from common.http.message_schema import MessageOut
from common.message_words import told
from common.money import format_money
from instances.lifecycle.resize import Size
from instances.models import Instance
from marketplace.constants import DATA_DISK_GB_MAX, MAX_GPUS_PER_HOST

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
    return {"code": instance.setback_code, **told(instance.setback_message, instance.setback_detail)}


class InstanceReimage(serializers.Serializer[Any]):
    """A fresh root that was requested and has not run yet."""

    image = serializers.CharField()
    former_image = serializers.CharField(help_text="Where a failure, or taking it back, leads")
    begun = serializers.BooleanField(help_text="false: DELETE …/reimage takes it back")


class InstanceSetback(serializers.Serializer[Any]):
    """Why the last request could not be carried out; the instance goes on as before."""

    code = serializers.CharField()
    detail = serializers.CharField(allow_blank=True)
    message = MessageOut(allow_null=True)


class ReimageIn(serializers.Serializer[Any]):
    """A fresh root."""

    image = serializers.CharField(max_length=100, help_text="Slug or img_…; the present one is lawful too")


class SizeIn(serializers.Serializer[Any]):
    """The size to price; what you leave out stays as it is."""

    gpu_count = serializers.IntegerField(min_value=1, max_value=MAX_GPUS_PER_HOST, required=False, allow_null=True)
    data_disk_gb = serializers.IntegerField(min_value=0, max_value=DATA_DISK_GB_MAX, required=False, allow_null=True)


class ResizeIn(SizeIn):
    """Another size.

    The number of GPUs changes while the instance is stopped; the data disk grows at any time and never gets smaller.
    """

    max_hourly_rate = AmountText(
        required=False, allow_null=True, help_text="Refused when all its GPUs would cost more an hour"
    )
    max_disk_daily = AmountText(
        required=False, allow_null=True, help_text="Refused when its data disk would cost more a day"
    )


class SizeOut(serializers.Serializer[Any]):
    """What a size costs at the offer's present prices, beside what is paid now."""

    gpu_count = serializers.IntegerField()
    data_disk_gb = serializers.IntegerField()
    hourly_rate = serializers.CharField(help_text="Of all its GPUs, while it runs")
    disk_daily = serializers.CharField(help_text="Of its data disk above the free quota; from the growth on")
    hourly_rate_now = serializers.CharField()
    disk_daily_now = serializers.CharField()
