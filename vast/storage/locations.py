"""Locations of copies as the clients write them: `C.12:/data`, `V.3:/`, `s3.backups:/models`, `local:models`."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any, Final
from uuid import UUID

from accounts.models import User
from common.errors import NotFound
from common.ids import parse_public_id
from storage.object_sync.selectors import connections_of
from vast.errors import InvalidArgs

_LOCAL: Final = (None, "", "local")
_DIGITS: Final = 15
_CHARS_AT_MOST: Final = 1000
_DATA: Final = PurePosixPath("/data")


class LocationKind(StrEnum):
    """Where a location is."""

    LOCAL = "local"
    INSTANCE = "instance"
    VOLUME = "volume"
    CLOUD = "cloud"


@dataclass(frozen=True)
class Location:
    """One side of a copy: `number` is of an instance or volume, `connection` as the client named it."""

    kind: LocationKind
    path: str
    number: int = 0
    connection: str = ""


def read_location(body: Mapping[str, Any], side: str) -> Location:
    """Return the location of the side `src` or `dst`.

    Raises:
        InvalidArgs: it can't be read.
    """
    return location_named(side, body.get(f"{side}_id"), _text(f"{side}_path", body.get(f"{side}_path") or ""))


def location_named(side: str, name: object, path: str = "") -> Location:
    """Return the location with this name, such as `12`, `C.12`, `V.3`, `s3.backups` or `local`.

    Raises:
        InvalidArgs: it can't be read.
    """
    if name in _LOCAL:
        return Location(LocationKind.LOCAL, path)
    text = str(name) if type(name) is int else _text(f"{side}_id", name)
    head, _, rest = text.partition(".")
    if _is_number(text):
        return Location(LocationKind.INSTANCE, path, number=int(text))
    if head in ("C", "V"):
        if not _is_number(rest):
            raise InvalidArgs(f"{side}: Name a number after {head}., such as {head}.1042.")
        kind = LocationKind.INSTANCE if head == "C" else LocationKind.VOLUME
        return Location(kind, path, number=int(rest))
    if not rest:
        raise InvalidArgs(f"{side}: Name a connection of `vastai show connections`, such as s3.NAME:/folder.")
    return Location(LocationKind.CLOUD, path, connection=rest)


def connection_named(owner: User, name: str) -> UUID:
    """Return the connection to object storage with this id or name.

    Raises:
        NotFound: the account has none.
    """
    own = connections_of(owner.pk)
    try:
        found = own.filter(pk=parse_public_id("conn", name)).first()
    except NotFound:
        found = own.filter(name=name).first()
    if found is None:
        raise NotFound(f"You have no connection {name}. `vastai show connections` lists yours.")
    return found.pk


def folder_on_data_disk(side: str, path: str) -> str:
    """Return the folder below /data that a path in an instance names.

    Raises:
        InvalidArgs: it is elsewhere.
    """
    place = PurePosixPath(path)
    if not place.is_relative_to(_DATA):
        raise InvalidArgs(f"{side}: Only the data disk of an instance is copied: name /data, or a folder in it.")
    return str(place.relative_to(_DATA))


def _text(field: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > _CHARS_AT_MOST or not value.isprintable():
        raise InvalidArgs(f"{field}: Send a text of at most {_CHARS_AT_MOST} printable characters.")
    return value


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS
