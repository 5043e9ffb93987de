"""Connections to object storage, checked when they are saved; secret keys are encrypted."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import IntegrityError
from django.db.models import ProtectedError
from django.utils.translation import gettext as _

from accounts.models import User
from common import clock
from common.db.transactions import use_case
from common.encryption import encrypt
from common.errors import wrong_field
from common.object_store import Place
from storage.clients.s3.client import ProbeResult, probe_place
from storage.clients.s3.keys import parse_bucket, parse_endpoint, parse_folder
from storage.constants import CONNECTIONS_AT_MOST
from storage.errors import ConnectionInUse, ConnectionNameTaken, TooManyImages
from storage.models import Connection
from storage.object_sync.selectors import connection_of, connections_of

_KEY_MOST: Final = 200
_REGION: Final = "us-east-1"  # what most storages without regions expect requests to be signed for


@dataclass(frozen=True)
class CheckedConnection:
    """A place in object storage that was checked just now, with the result."""

    place: Place
    checked: ProbeResult


def check_connection(
    *, endpoint: str, bucket: str, key_id: str, secret: str, region: str = "", prefix: str = ""
) -> CheckedConnection:
    """Check access to a place in object storage.

    It makes network requests, so call it outside transactions. Raises InvalidInput, StorageUnreachable,
    StorageLoginRefused or BucketMissing.
    """
    for name, text in (("key_id", key_id), ("secret", secret), ("region", region)):
        if not text.isprintable() or len(text) > _KEY_MOST or (not text and name != "region"):
            raise wrong_field(name, _("Copy it exactly from your storage provider."))
    place = Place(
        endpoint=parse_endpoint(endpoint),
        region=region.strip() or _REGION,
        bucket=parse_bucket(bucket.strip()),
        prefix=parse_folder("prefix", prefix),
        key_id=key_id.strip(),
        secret=secret.strip(),
    )
    return CheckedConnection(place, probe_place(place))


def save_connection(*, owner: User, name: str, tried: CheckedConnection) -> Connection:
    """Save a checked connection.

    Raises ConnectionNameTaken or TooManyImages.
    """
    place, now = tried.place, clock.now()
    with use_case():
        if connections_of(owner.pk).count() >= CONNECTIONS_AT_MOST:
            raise TooManyImages(f"You have saved {CONNECTIONS_AT_MOST} connections. Remove one that you no longer use.")
        if connections_of(owner.pk).filter(name=name).exists():
            raise ConnectionNameTaken(f"You already have a connection with the name {name}.")
        connection = Connection(
            owner=owner,
            name=name,
            endpoint=place.endpoint,
            region=place.region,
            bucket=place.bucket,
            prefix=place.prefix,
            created_at=now,
        )
        _set_login(connection, tried)
        try:
            connection.save(force_insert=True)
        except IntegrityError as error:  # two requests at the same time
            raise ConnectionNameTaken(f"You already have a connection with the name {name}.") from error
    return connection


def check_connection_with_key(*, owner: User, connection_id: UUID, key_id: str, secret: str) -> CheckedConnection:
    """Check the place of a saved connection with another key.

    Call it outside transactions. Raises what `check_connection` raises, or NotFound.
    """
    found = connection_of(owner.pk, connection_id)
    return check_connection(
        endpoint=found.endpoint,
        bucket=found.bucket,
        key_id=key_id,
        secret=secret,
        region=found.region,
        prefix=found.prefix,
    )


def change_login(*, owner: User, connection_id: UUID, tried: CheckedConnection) -> Connection:
    """Replace the key of a connection by one that was checked.

    Running syncs go on with the former key.
    """
    with use_case():
        connection = connection_of(owner.pk, connection_id)
        _set_login(connection, tried)
        connection.save(update_fields=["key_id", "sealed_secret", "virtual_host", "can_write", "checked_at"])
    return connection


def remove_connection(*, owner: User, connection_id: UUID) -> None:
    """Delete a connection with its schedules.

    Raises ConnectionInUse while instances are archived there before their deletion.
    """
    with use_case():
        connection = connection_of(owner.pk, connection_id)
        try:
            connection.delete()
        except ProtectedError as error:
            raise ConnectionInUse(
                "Data is archived there before its deletion: choose another place for that first."
            ) from error


def _set_login(connection: Connection, tried: CheckedConnection) -> None:
    connection.key_id, connection.sealed_secret = tried.place.key_id, encrypt(tried.place.secret)
    connection.virtual_host, connection.can_write = tried.checked.virtual_host, tried.checked.can_write
    connection.checked_at = clock.now()
