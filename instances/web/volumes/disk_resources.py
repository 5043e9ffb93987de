"""Parts of responses about disks: host, usage, progress and failure."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from common.http.message_schema import MessageOut
from common.ids import public_id
from common.messages.rendering import message_fields
from common.resources import resource
from instances.web.resources import HOST_PREFIX
from instances.web.volumes.rows import percent_of

if TYPE_CHECKING:
    from marketplace.models import Host
    from storage.models import DiskUse, Operation


@resource
class StoragePlace:
    """The host on which it is stored."""

    id: str
    name: str
    region: str
    simulated: bool


@resource
class DiskUsage:
    """Usage at the host's last report."""

    used_mb: int
    total_mb: int
    used_percent: int
    inodes_used: int
    inodes_total: int
    inodes_percent: int
    nearly_full: Annotated[bool, "At least 90% of the space or inodes are used"]
    at: datetime


@resource
class StorageProgress:
    """Progress of the current operation."""

    kind: str
    done_bytes: int
    total_bytes: Annotated[int, "0: not known"]
    percent: int | None
    detail: str
    message: Annotated[dict[str, Any] | None, MessageOut]


@resource
class StorageFailure:
    """Why the last operation on it failed."""

    code: str
    detail: str
    message: Annotated[dict[str, Any] | None, MessageOut]


def place_resource(host: "Host") -> StoragePlace:
    return StoragePlace(id=public_id(HOST_PREFIX, host.pk), name=host.name, region=host.region, simulated=host.simulated)


def disk_usage_resource(use: "DiskUse | None") -> DiskUsage | None:
    if use is None:
        return None
    return DiskUsage(
        used_mb=use.used_mb,
        total_mb=use.total_mb,
        used_percent=use.used_percent,
        inodes_used=use.inodes_used,
        inodes_total=use.inodes_total,
        inodes_percent=use.inodes_percent,
        nearly_full=use.is_nearly_full,
        at=use.at,
    )


def progress_resource(work: "Operation | None") -> StorageProgress | None:
    if work is None:
        return None
    return StorageProgress(
        kind=work.kind,
        done_bytes=work.done_bytes,
        total_bytes=work.total_bytes,
        percent=percent_of(work),
        **message_fields(work.message, work.detail),
    )
