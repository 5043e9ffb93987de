"""Requests and responses of re-imaging and resizing an instance."""

from typing import Annotated, Any

from rest_framework import serializers

from common.http.fields import AmountText
from common.http.message_schema import MessageOut
from common.messages.rendering import message_fields
from common.money import format_money
from common.resources import resource
from instances.lifecycle.resize import Size
from instances.models import Instance
from instances.web.launch.serializers import LaunchFields
from marketplace.constants import DATA_DISK_GB_MAX, MAX_GPUS_PER_HOST


@resource
class InstanceReimage:
    """A requested image change that has not taken effect yet."""

    image: str
    former_image: Annotated[str, "The image to return to on failure or cancellation"]
    begun: Annotated[bool, "false: can be cancelled with DELETE …/reimage"]


@resource
class InstanceSetback:
    """Why the last request failed; the instance is unchanged."""

    code: str
    detail: str
    message: Annotated[dict[str, Any] | None, MessageOut]


class ReimageIn(LaunchFields):
    """The new image, and changes of the launch settings. A secret with null keeps its value."""

    image = serializers.CharField(max_length=100, help_text="Slug or img_…; can be the current one")


class SizeIn(serializers.Serializer[Any]):
    """The size to price; what you leave out stays as it is."""

    gpu_count = serializers.IntegerField(min_value=1, max_value=MAX_GPUS_PER_HOST, required=False, allow_null=True)
    data_disk_gb = serializers.IntegerField(min_value=0, max_value=DATA_DISK_GB_MAX, required=False, allow_null=True)


class ResizeIn(SizeIn):
    """A new size.

    The number of GPUs can be changed while the instance is stopped; the data disk can be expanded at any time
    but not shrunk.
    """

    max_hourly_rate = AmountText(required=False, allow_null=True, help_text="Fails if all its GPUs would cost more per hour")
    max_disk_daily = AmountText(required=False, allow_null=True, help_text="Fails if its data disk would cost more per day")


@resource
class SizeOut:
    """Cost of a size at the offer's current prices."""

    gpu_count: int
    data_disk_gb: int
    hourly_rate: Annotated[str, "For all its GPUs, while running"]
    disk_daily: Annotated[str, "For the data disk above the free allowance, once expanded"]
    hourly_rate_now: str
    disk_daily_now: str


def size_resource(size: Size, now: Size) -> SizeOut:
    return SizeOut(
        gpu_count=size.gpu_count,
        data_disk_gb=size.data_disk_gb,
        hourly_rate=format_money(size.rate_micros),
        disk_daily=format_money(size.disk_micros_per_day),
        hourly_rate_now=format_money(now.rate_micros),
        disk_daily_now=format_money(now.disk_micros_per_day),
    )


def reimage_resource(instance: Instance) -> InstanceReimage | None:
    if instance.former_image is None:
        return None
    return InstanceReimage(
        image=instance.image.slug, former_image=instance.former_image.slug, begun=not instance.may_keep_root
    )


def setback_resource(instance: Instance) -> InstanceSetback | None:
    if not instance.setback_code:
        return None
    return InstanceSetback(code=instance.setback_code, **message_fields(instance.setback_message, instance.setback_detail))
