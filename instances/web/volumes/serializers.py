"""Requests about volumes, snapshots and public data sets."""

from typing import TYPE_CHECKING, Any

from rest_framework import serializers

from common.http.fields import AmountText, NameText
from marketplace.constants import DATA_DISK_GB_MAX

if TYPE_CHECKING:
    pass


Text, Whole = serializers.CharField, serializers.IntegerField


class VolumeIn(serializers.Serializer[Any]):
    """A new volume: empty on a host, or created from a snapshot on the snapshot's host."""

    name = NameText(max_length=40, help_text="Lowercase letters, digits and hyphens; mounted at /mnt/<name>")
    size_gb = Whole(
        min_value=1,
        max_value=DATA_DISK_GB_MAX,
        required=False,
        allow_null=True,
        help_text="Default: the size of the snapshot",
    )
    host = Text(required=False, allow_null=True, help_text="host_…; see GET /storage-hosts")
    snapshot = Text(required=False, allow_null=True, help_text="snap_…")
    max_daily_rate = AmountText(required=False, allow_null=True, help_text="Fails if it would cost more per day")


class ResizeVolumeIn(serializers.Serializer[Any]):
    """A larger size; volumes can't shrink."""

    size_gb = Whole(min_value=1, max_value=DATA_DISK_GB_MAX)
    max_daily_rate = AmountText(required=False, allow_null=True, help_text="Fails if it would cost more per day")


class MoveVolumeIn(serializers.Serializer[Any]):
    """The destination."""

    host = Text(help_text="host_…: another host in the same region; see GET /storage-hosts")
    max_daily_rate = AmountText(required=False, allow_null=True, help_text="Fails if it would cost more per day there")


class CopyVolumeIn(MoveVolumeIn):
    """The destination, and the name of the copy."""

    host = Text(help_text="host_…: another host, in any region")
    name = NameText(max_length=40, help_text="Lowercase letters, digits and hyphens")


class AttachIn(serializers.Serializer[Any]):
    """The instance."""

    instance = Text(help_text="inst_…: a stopped instance on the same host")


class SnapshotIn(serializers.Serializer[Any]):
    """The source: a volume, or an instance's data disk."""

    volume = Text(required=False, allow_null=True, help_text="vol_…")
    instance = Text(required=False, allow_null=True, help_text="inst_…")
    name = NameText(max_length=80, allow_blank=True, default="")


class DataSetIn(serializers.Serializer[Any]):
    """A data set to publish."""

    snapshot = Text(help_text="snap_…: one of your own")
    slug = Text(max_length=40, help_text="Mounted at /pub/<slug>")
    title = NameText(max_length=120)
    description = Text(max_length=2000, allow_blank=True, default="")
    licence = NameText(max_length=120, allow_blank=True, default="")
