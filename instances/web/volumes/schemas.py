"""OpenAPI schemas of volumes, snapshots and public data sets."""

from typing import Any

from rest_framework import serializers

from common.http.fields import AmountText, NameText
from common.http.message_schema import MessageOut
from marketplace.constants import DATA_DISK_GB_MAX
from storage.states import SnapshotSource, SnapshotState, VolumeMoveKind, VolumeMoveState, VolumeState

Text, Time, Whole, Yes = (
    serializers.CharField,
    serializers.DateTimeField,
    serializers.IntegerField,
    serializers.BooleanField,
)


class StoragePlace(serializers.Serializer[Any]):
    """The host that it is on."""

    id = Text()
    name = Text()
    region = Text()
    simulated = Yes()


class StorageHostOut(StoragePlace):
    """A host that takes volumes."""

    disk_kind = Text()
    disk_free_gb = Whole()
    gb_day = Text(help_text="What a GB costs a day")


class DiskUsage(serializers.Serializer[Any]):
    """How full it was at its host's last report."""

    used_mb = Whole()
    total_mb = Whole()
    used_percent = Whole()
    inodes_used = Whole()
    inodes_total = Whole()
    inodes_percent = Whole()
    nearly_full = Yes(help_text="90 % of the space or of the inodes are used")
    at = Time()


class StorageProgress(serializers.Serializer[Any]):
    """What its host is doing with it now."""

    kind = Text()
    done_bytes = Whole()
    total_bytes = Whole(help_text="0: not known")
    percent = Whole(allow_null=True)
    detail = Text()
    message = MessageOut(allow_null=True)


class StorageFailure(serializers.Serializer[Any]):
    """Why the last operation on it failed."""

    code = Text()
    detail = Text()
    message = MessageOut(allow_null=True)


class VolumeIn(serializers.Serializer[Any]):
    """A new volume: empty on a host, or a copy of a snapshot on the snapshot's host."""

    name = NameText(max_length=40, help_text="Lower-case letters, digits and hyphens: it is found at /mnt/<name>")
    size_gb = Whole(
        min_value=1, max_value=DATA_DISK_GB_MAX, required=False, allow_null=True, help_text="Left out: the snapshot's"
    )
    host = Text(required=False, allow_null=True, help_text="host_…; GET /storage-hosts lists those that take volumes")
    snapshot = Text(required=False, allow_null=True, help_text="snap_…")


class VolumeGrowth(serializers.Serializer[Any]):
    """Size and price of a volume once its host has made it larger."""

    size_gb = Whole()
    daily_rate = Text(help_text="Charged from then on")


class VolumeMoveOut(serializers.Serializer[Any]):
    """A transfer of a volume to another host, as a move or a copy."""

    id = Text()
    kind = serializers.ChoiceField(choices=VolumeMoveKind.values)
    state = serializers.ChoiceField(choices=VolumeMoveState.values)
    source = Text()  # type: ignore[assignment]  # a field here, whatever DRF calls its own attribute
    target = Text(help_text="Of a move the volume itself")
    from_host = StoragePlace()
    to_host = StoragePlace()
    daily_rate = Text(help_text="Of the whole volume there, charged from when it has come")
    for_instance = Text(allow_null=True, help_text="inst_…: the one that runs when it has come")
    checksum = Text(allow_null=True, help_text="Of names, sizes and every chunk; the receiving host has read it all again")
    bytes = Whole(help_text="What had to travel: all but its empty room")
    cuts = Whole(help_text="How often the way broke and the copying went on")
    failure = StorageFailure(allow_null=True)
    created_at = Time()
    switched_at = Time(allow_null=True, help_text="From then on it is the new host's")
    ended_at = Time(allow_null=True, help_text="Nothing is left over anywhere")


class ResizeVolumeIn(serializers.Serializer[Any]):
    """A larger size; a volume never gets smaller."""

    size_gb = Whole(min_value=1, max_value=DATA_DISK_GB_MAX)
    max_daily_rate = AmountText(required=False, allow_null=True, help_text="Refuse when a day of it would cost more")


class MoveVolumeIn(serializers.Serializer[Any]):
    """The destination."""

    host = Text(help_text="host_…: another one of the same region; GET /storage-hosts lists those that take volumes")
    max_daily_rate = AmountText(required=False, allow_null=True, help_text="Refuse when a day of it there would cost more")


class CopyVolumeIn(MoveVolumeIn):
    """The destination, and the name of the copy."""

    host = Text(help_text="host_…: another one, of any region")
    name = NameText(max_length=40, help_text="Lower-case letters, digits and hyphens")


class VolumeOut(serializers.Serializer[Any]):
    """Named storage that outlives instances."""

    id = Text()
    name = Text()
    state = serializers.ChoiceField(choices=VolumeState.values)
    host = StoragePlace()
    size_gb = Whole()
    path = Text(help_text="Where an instance finds it")
    attached_to = Text(allow_null=True, help_text="inst_…: the one instance that writes it")
    usage = DiskUsage(allow_null=True, help_text="null until an instance has had it, and on simulated hosts")
    progress = StorageProgress(allow_null=True)
    growth = VolumeGrowth(allow_null=True, help_text="While it is being made larger")
    move = VolumeMoveOut(allow_null=True, help_text="While it is on its way to another host, or a copy of it is")
    snapshot = Text(allow_null=True, help_text="What it began as")
    daily_rate = Text()
    cost_so_far = Text()
    delete_at = Time(allow_null=True, help_text="Nobody pays for it: it is deleted then")
    lost_at = Time(allow_null=True, help_text="Its host does not find it; it costs nothing until it is back")
    restore_from = Text(allow_null=True, help_text="Of a lost one: a snapshot that it can be put back to, if there is one")
    failure = StorageFailure(allow_null=True)
    created_at = Time()


class AttachIn(serializers.Serializer[Any]):
    """The instance."""

    instance = Text(help_text="inst_…: one of the same host, stopped")


class SnapshotIn(serializers.Serializer[Any]):
    """What to copy: a volume, or an instance's data disk."""

    volume = Text(required=False, allow_null=True, help_text="vol_…")
    instance = Text(required=False, allow_null=True, help_text="inst_…")
    name = NameText(max_length=80, allow_blank=True, default="")


class SnapshotOrigin(serializers.Serializer[Any]):
    """What it is a copy of."""

    kind = serializers.ChoiceField(choices=SnapshotSource.values)
    id = Text()
    name = Text()


class SnapshotOut(serializers.Serializer[Any]):
    """A copy of a disk at one moment."""

    id = Text()
    name = Text()
    state = serializers.ChoiceField(choices=SnapshotState.values)
    host = StoragePlace()
    source = SnapshotOrigin()  # type: ignore[assignment]  # a field here, whatever DRF calls its own attribute
    size_gb = Whole()
    stored_bytes = Whole(help_text="What it takes on the host; charged in whole GB")
    checksum = Text(help_text="Of every block that is not empty, with its place; empty until it is ready")
    progress = StorageProgress(allow_null=True)
    data_set = Text(allow_null=True, help_text="Published under this name")
    daily_rate = Text()
    cost_so_far = Text()
    delete_at = Time(allow_null=True)
    failure = StorageFailure(allow_null=True)
    created_at = Time()
    ready_at = Time(allow_null=True)


class DataSetIn(serializers.Serializer[Any]):
    """A data set to publish."""

    snapshot = Text(help_text="snap_…: one's own")
    slug = Text(max_length=40, help_text="It is found at /pub/<slug>")
    title = NameText(max_length=120)
    description = Text(max_length=2000, allow_blank=True, default="")
    licence = NameText(max_length=120, allow_blank=True, default="")


class DataSetOut(serializers.Serializer[Any]):
    """A public data set, which every instance on its host may read."""

    slug = Text()
    title = Text()
    description = Text()
    licence = Text()
    host = StoragePlace()
    size_gb = Whole()
    stored_bytes = Whole()
    path = Text()
    published_at = Time()


class DataDiskOut(serializers.Serializer[Any]):
    """The data disk."""

    size_gb = Whole()
    path = Text()
    usage = DiskUsage(allow_null=True)
    progress = StorageProgress(allow_null=True)


class MountedVolume(serializers.Serializer[Any]):
    """A volume that is attached to the instance."""

    id = Text()
    name = Text()
    path = Text()


class MountedDataSet(serializers.Serializer[Any]):
    """A data set that the instance mounts."""

    slug = Text()
    path = Text()


class InstanceStorageOut(serializers.Serializer[Any]):
    """Data disk, volumes and data sets of an instance."""

    data_disk = DataDiskOut()
    volumes = MountedVolume(many=True)
    data_sets = MountedDataSet(many=True)
