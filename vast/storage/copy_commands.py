"""Commands for the copies that this market doesn't make itself: `scp` with the addresses of the instances."""

from shlex import quote
from typing import Final
from urllib.parse import quote as percent_encoded

from accounts.models import User
from common.addresses import in_url
from instances.core.endpoints import public_address
from instances.states import InstanceState
from vast.contracts.changes import own_instance
from vast.storage.locations import Location, LocationKind

_SSH_PORT: Final = 22


def command_instead(owner: User, src: Location, dst: Location) -> str:
    """Return what a person types to copy between these locations, and why the client's own way doesn't work."""
    kinds = {src.kind, dst.kind}
    if LocationKind.CLOUD in kinds:
        return "Object storage is copied to and from instances and volumes only."
    if kinds == {LocationKind.LOCAL}:
        return "Both locations are on your machine. Name an instance, such as C.1042:/data."
    if kinds == {LocationKind.VOLUME}:
        return "A volume is copied as a whole, to another host: `vastai clone volume`."
    if LocationKind.VOLUME in kinds:
        return (
            "Files of a volume are copied where it is mounted: link it to an instance, and copy to or from /mnt/NAME there. "
            "`vastai copy V.NUMBER:/folder s3.NAME:/folder` copies it to object storage."
        )
    return _between_instances(owner, src, dst)


def _between_instances(owner: User, src: Location, dst: Location) -> str:
    """Return the line that copies between two instances, or an instance and the reader's machine."""
    closed = next((each for each in (src, dst) if each.kind == LocationKind.INSTANCE and not _address(owner, each)), None)
    if closed is not None:
        return f"Instance {closed.number} is not running. Start it, then copy with scp and `vastai scp-url {closed.number}`."
    line = f"{_target(owner, src)} {_target(owner, dst)}"
    if LocationKind.LOCAL in (src.kind, dst.kind):
        return f"Instances have no rsync service of the client's kind. Type: scp -r {line} (or `berth cp`)"
    return f"Files are copied between instances through your machine. Type: scp -3 -r {line}"


def _target(owner: User, place: Location) -> str:
    if place.kind == LocationKind.LOCAL:
        return quote(place.path or ".")
    return quote(f"scp://root@{_address(owner, place)}/{percent_encoded(place.path or '/')}")


def _address(owner: User, place: Location) -> str:
    """Return address and port of the instance's SSH, or "" unless it runs."""
    instance = own_instance(owner, place.number)
    address, port = public_address(instance), dict(instance.ports).get(_SSH_PORT)
    return f"{in_url(address)}:{port}" if address and port and instance.state == InstanceState.RUNNING else ""
