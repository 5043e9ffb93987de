"""Tables of images, volumes, snapshots, object storage, and the operations of hosts."""

from storage.models.images import Image, ImagePull, Registry, SharedImage
from storage.models.object_storage import Connection, Sync, SyncSchedule
from storage.models.operations import Operation
from storage.models.snapshots import DataSet, Snapshot
from storage.models.volume_transfers import VolumeMove
from storage.models.volumes import Attachment, DiskUse, Volume

__all__ = [
    "Attachment",
    "Connection",
    "DataSet",
    "DiskUse",
    "Image",
    "ImagePull",
    "Operation",
    "Registry",
    "SharedImage",
    "Snapshot",
    "Sync",
    "SyncSchedule",
    "Volume",
    "VolumeMove",
]
