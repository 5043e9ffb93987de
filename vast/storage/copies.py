"""Copies between disks and object storage, which the disk's host makes, and clones of volumes on other hosts."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from accounts.models import User
from common.db.transactions import joining
from common.ids import public_id
from instances.object_sync.disk_syncs import sync_disk
from instances.volumes.transfers import copy_volume_to_host
from storage.object_sync.selectors import connections_of, running_syncs
from storage.object_sync.syncs import SyncRequest, cancel_sync, sync_volume
from storage.states import SyncDirection, VolumeMoveKind, VolumeMoveState
from storage.volumes.transfer_completion import cancel_volume_transfer
from storage.volumes.transfer_selectors import open_volume_moves
from vast.contracts.changes import own_instance
from vast.errors import InvalidArgs, NotSupported
from vast.storage.copy_commands import command_instead
from vast.storage.locations import (
    Location,
    LocationKind,
    connection_named,
    folder_on_data_disk,
    location_named,
    read_location,
)
from vast.storage.volumes import fresh_name, own_volume, place_key
from vast.values import read_number

if TYPE_CHECKING:
    from storage.models import Sync, Volume, VolumeMove

_TRANSFERS: Final = {"instance to cloud": SyncDirection.UP, "cloud to instance": SyncDirection.DOWN}


def connection_rows(owner: User) -> list[dict[str, Any]]:
    """Return the connections to object storage by name; all of them speak S3."""
    return [{"id": public_id("conn", each.pk), "name": each.name, "cloud_type": "s3"} for each in connections_of(owner.pk)]


def copy(*, owner: User, body: Mapping[str, Any]) -> None:
    """Copy a folder from `src` to `dst`, of which one is in object storage and the other on a data disk or volume.

    Raises:
        NotSupported: between other locations; it names the command that copies there.
    """
    src, dst = read_location(body, "src"), read_location(body, "dst")
    clouds = [each for each in (src, dst) if each.kind == LocationKind.CLOUD]
    disks = [each for each in (src, dst) if each.kind in (LocationKind.INSTANCE, LocationKind.VOLUME)]
    if not (clouds and disks):
        raise NotSupported(command_instead(owner, src, dst))
    up = dst.kind == LocationKind.CLOUD
    _sync(owner, disks[0], clouds[0], SyncDirection.UP if up else SyncDirection.DOWN)


def cloud_copy(*, owner: User, body: Mapping[str, Any]) -> None:
    """Copy a folder between the data disk of an instance and object storage, as `cloud copy` asks."""
    direction = _TRANSFERS.get(str(body.get("transfer", "")).lower())
    if direction is None:
        raise InvalidArgs("transfer: Send Instance To Cloud or Cloud To Instance.")
    if body.get("flags"):
        raise InvalidArgs("flags: A copy takes none here. Files that are there with the same size and time are not copied.")
    up = direction == SyncDirection.UP
    paths = {"src_path": body.get("src"), "dst_path": body.get("dst")}
    names = {"src_id": body.get("instance_id"), "dst_id": f"s3.{body.get('selected') or ''}"}
    if not up:
        names = {"src_id": names["dst_id"], "dst_id": names["src_id"]}
    src, dst = (read_location({**names, **paths}, side) for side in ("src", "dst"))
    disk, cloud = (src, dst) if up else (dst, src)
    if disk.kind != LocationKind.INSTANCE:
        raise InvalidArgs("instance: Send the number of an instance. `vastai copy` copies volumes: V.NUMBER:/folder.")
    _sync(owner, disk, cloud, direction)


def cancel_copies(*, owner: User, name: object) -> None:
    """Cancel the copy that runs to or from an instance or volume, also the clone that becomes this volume.

    What has been copied between a disk and object storage stays. Without any, nothing changes.
    """
    text = name.partition(":")[0] if isinstance(name, str) else name
    place = location_named("dst", text)
    if place.kind not in (LocationKind.INSTANCE, LocationKind.VOLUME):
        raise InvalidArgs("dst: Name the instance or the volume, such as 1042 or V.1043.")
    key = _disk_key(owner, place)
    running = running_syncs([key]).get(key)
    if running is not None:
        cancel_sync(owner=owner, sync_id=running.pk)
    move = open_volume_moves([key]).get(key)
    if move is not None and _is_cloning(move) and move.target_id == key:
        cancel_volume_transfer(owner=owner, volume_id=key)


def clone_volume(*, owner: User, body: Mapping[str, Any]) -> "Volume":
    """Copy a volume into a new one of the same size on another host; the same again while it runs is that volume."""
    source, place = body.get("src_id"), body.get("dst_id")
    if type(source) is not int or type(place) is not int:
        raise InvalidArgs("src_id, dst_id: Take them from `vastai show volumes` and `vastai search volumes`.")
    volume, host_id, size = own_volume(owner, source), place_key(place), body.get("size")
    if size is not None and read_number("size", size) != volume.size_gb:
        raise InvalidArgs(
            f"size: A clone has the size of its volume, {volume.size_gb} GB. Expand it later with `berth volume resize`."
        )
    if host_id == volume.host_id:
        raise InvalidArgs("dst_id: The volume is on this machine itself. A clone is made on another one.")
    with joining():
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # a repetition waits for the first
        move = open_volume_moves([volume.pk]).get(volume.pk)
        if move is not None and _is_cloning(move) and (move.source_id, move.to_host_id) == (volume.pk, host_id):
            return move.target
        return copy_volume_to_host(owner=owner, volume_id=volume.pk, host_id=host_id, name=fresh_name()).target


def _is_cloning(move: "VolumeMove") -> bool:
    return move.kind == VolumeMoveKind.COPY and move.state == VolumeMoveState.COPYING


def _sync(owner: User, disk: Location, cloud: Location, direction: SyncDirection) -> None:
    """Start the copy, unless it runs already with the same request."""
    key, connection = _disk_key(owner, disk), connection_named(owner, cloud.connection)
    side = "src" if direction == SyncDirection.UP else "dst"
    path = folder_on_data_disk(side, disk.path) if disk.kind == LocationKind.INSTANCE else disk.path
    request = SyncRequest(direction, path, cloud.path).checked
    running = running_syncs([key]).get(key)
    if running is not None and running.connection_id == connection and _same(running, request):
        return
    if disk.kind == LocationKind.INSTANCE:
        sync_disk(renter=owner, instance_id=key, connection_id=connection, sync_request=request)
    else:
        sync_volume(owner=owner, volume_id=key, connection_id=connection, sync_request=request)


def _disk_key(owner: User, place: Location) -> UUID:
    if place.kind == LocationKind.INSTANCE:
        return own_instance(owner, place.number).pk
    return own_volume(owner, place.number).pk


def _same(running: "Sync", request: SyncRequest) -> bool:
    return SyncRequest(running.direction, running.path, running.folder, running.delete_extra) == request
