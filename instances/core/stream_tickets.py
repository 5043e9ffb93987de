"""Tickets for streams into an instance, and what each allows.

A ticket is signed for the relay; it contains a grant for the agent, signed with a key that the relay does not know.
`agents.protocol` (tickets.py, grants.py) reads both; no app may import it, so a test keeps the two sides equal.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import quote_from_bytes
from uuid import UUID, uuid4

from django.conf import settings

from accounts.models import User
from accounts.selectors import ticket_credentials_of
from common import clock
from common.json import to_json
from instances.core.selectors import instance_of
from instances.core.wakeup_payloads import early_order_key
from instances.errors import NotRunning
from instances.models import Instance
from instances.states import InstanceState

PORT: Final = "port"
EXEC: Final = "exec"
FILES: Final = "files"
READ: Final = "read"
WRITE: Final = "write"
STREAM_LIFETIME: Final = timedelta(seconds=60)
DOWNLOAD_LIFETIME: Final = timedelta(hours=1)  # within which an interrupted download can be resumed
STREAM_PATH: Final = "/relay/v1/streams"
DOWNLOAD_PATH: Final = "/relay/v1/download"
UPLOAD_PATH: Final = "/relay/v1/upload"
_GRANT: Final = b"berth-grant-v1\n"
_TICKET: Final = b"berth-ticket-v1\n"


@dataclass(frozen=True)
class StreamAddress:
    """Path and ticket of a stream, with the time at which the ticket expires."""

    path: str
    ticket: str
    expires_at: datetime


def open_stream(*, renter: User, instance_id: UUID, kind: str, port: int = 0, session: str = "") -> StreamAddress:
    """Issue a ticket that enters the renter's running instance once.

    `session` names a terminal that can be reconnected to.
    """
    instance = _running(renter, instance_id)
    own = hashlib.sha256(f"{renter.pk.hex}:{session}".encode()).hexdigest()[:32] if session else ""
    bonds = ticket_credentials_of(renter)
    ticket = stream_ticket(instance=instance, kind=kind, port=port, lifetime=STREAM_LIFETIME, session=own, bonds=bonds)
    return StreamAddress(STREAM_PATH, ticket, clock.now() + STREAM_LIFETIME)


def open_download(*, renter: User, instance_id: UUID, path: str) -> StreamAddress:
    """Issue a ticket to read one file or folder of the renter's running instance.

    It can be used again after an interruption, until it expires.
    """
    return _open_path(renter, instance_id, path, kind=READ, address=DOWNLOAD_PATH)


def open_upload(*, renter: User, instance_id: UUID, path: str) -> StreamAddress:
    """Issue a ticket to write one file, or to unpack an archive into one folder, of the renter's running instance.

    It can be used again after an interruption, until it expires.
    """
    return _open_path(renter, instance_id, path, kind=WRITE, address=UPLOAD_PATH)


def _open_path(renter: User, instance_id: UUID, path: str, *, kind: str, address: str) -> StreamAddress:
    instance = _running(renter, instance_id)
    spelled = quote_from_bytes(path.encode("utf-8", "surrogateescape"))
    ticket = stream_ticket(
        instance=instance,
        kind=kind,
        path=spelled,
        lifetime=DOWNLOAD_LIFETIME,
        once=False,
        bonds=ticket_credentials_of(renter),
    )
    return StreamAddress(address, ticket, clock.now() + DOWNLOAD_LIFETIME)


def _running(renter: User, instance_id: UUID) -> Instance:
    instance = instance_of(renter, instance_id)
    if instance.state != InstanceState.RUNNING:
        raise NotRunning("This requires a running instance. Start it first.")
    return instance


def stream_ticket(
    *,
    instance: Instance,
    kind: str,
    port: int = 0,
    lifetime: timedelta,
    bonds: Sequence[str],
    once: bool = True,
    session: str = "",
    path: str = "",
) -> str:
    """Sign a ticket for this port, terminal, files or one file of this instance, and nothing else.

    `bonds` (of `ticket_credentials_of`) name what the ticket depends on: once one is revoked, the relay refuses the
    ticket and closes the streams that it opened.
    """
    expires_at = _until(lifetime)
    grant = {
        "id": uuid4().hex,
        "instance": instance.pk.hex,
        "kind": kind,
        "expires_at": expires_at,
        "port": port,
        "once": once,
        "session": session,
        "path": path,
    }
    sealed = _sealed(early_order_key(instance.host_id, instance.host.agent_keys), _GRANT, to_json(grant))
    return _signed(f"stream:{instance.host_id.hex}:{sealed}", expires_at, bonds)


def peer_ticket(*, pair: UUID, host_id: UUID, side: str, lifetime: timedelta) -> str:
    """Sign a ticket with which one of two hosts ("source", "target") meets the other at the relay.

    It can be used again whenever the connection breaks.
    """
    return _signed(f"pair:{pair.hex}:{host_id.hex}:{side}", _until(lifetime))


def topic_ticket(topic: str, lifetime: timedelta) -> str:
    """Sign a ticket for one topic of the relay."""
    return _signed(topic, _until(lifetime))


def _until(lifetime: timedelta) -> int:
    return int((clock.now() + lifetime).timestamp())


def _signed(topic: str, expires_at: int, bonds: Sequence[str] = ()) -> str:
    return _sealed(settings.RELAY_SECRET.encode(), _TICKET, to_json([topic, expires_at, *([bonds] if bonds else [])]))


def _sealed(key: bytes, purpose: bytes, body: bytes) -> str:
    return f"{_b64(body)}.{_b64(hmac.digest(key, purpose + body, hashlib.sha256))}"


def _b64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")
