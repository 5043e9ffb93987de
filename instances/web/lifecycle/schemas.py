"""OpenAPI schemas of re-imaging and resizing."""

from typing import Any

from rest_framework import serializers

from common.http.fields import AmountText
from marketplace.constants import DATA_DISK_GB_MAX, MAX_GPUS_PER_HOST


class InstanceReimage(serializers.Serializer[Any]):
    """A fresh root that was requested and has not run yet."""

    image = serializers.CharField()
    former_image = serializers.CharField(help_text="Where a failure, or taking it back, leads")
    begun = serializers.BooleanField(help_text="false: DELETE …/reimage takes it back")


class InstanceSetback(serializers.Serializer[Any]):
    """Why the last request could not be carried out; the instance goes on as before."""

    code = serializers.CharField()
    detail = serializers.CharField(allow_blank=True)


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
