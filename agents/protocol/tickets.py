"""Short-lived tickets that the web signs and the relay checks, so that the relay needs no database."""

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass


class BadTicket(Exception):
    """The ticket is malformed, forged or out of date."""


@dataclass(frozen=True)
class Ticket:
    """Permission to wait for one topic (`host:<hex>` or `user:<hex>`) until `expires_at` (Unix seconds).

    `news:<hex>` permits waiting for `user:<hex>`, with the answer naming what has changed. Streams have their own
    topics: `link:<host>` and `tunnel:<port>:<host>` for a host's agent, `pair:<id>:<side>` for the two agents of a
    copy, and `stream:<host>:<grant>`, which `read_stream_ticket` parses, for a client that enters an instance.
    """

    topic: str
    expires_at: int
    bonds: tuple[str, ...] = ()  # names whose revocation ends the ticket: account version, session, API token


@dataclass(frozen=True)
class StreamTicket:
    """Permission to have the relay request a stream from this host's agent.

    Where the stream may lead is in `grant`, signed for the agent: see `agents.protocol.stream_grants`.
    """

    host: str
    grant: str
    expires_at: int
    bonds: tuple[str, ...] = ()


def read_stream_ticket(secret: str, text: str, *, now: float) -> StreamTicket:
    """Verify and decode the ticket of a stream; `now` is in Unix seconds.

    Raises:
        BadTicket: The ticket is malformed, forged, expired or not for a stream.
    """
    ticket = read_ticket(secret, text, now=now)
    kind, _, rest = ticket.topic.partition(":")
    host, _, grant = rest.partition(":")
    if kind != "stream" or not host or not grant:
        raise BadTicket("not for a stream")
    return StreamTicket(host, grant, ticket.expires_at, ticket.bonds)


def sign_ticket(secret: str, *, topic: str, expires_at: int, bonds: Sequence[str] = ()) -> str:
    parts = [topic, expires_at, list(bonds)] if bonds else [topic, expires_at]
    body = json.dumps(parts, separators=(",", ":")).encode()
    return f"{_b64(body)}.{_b64(_mac(secret, body))}"


def read_ticket(secret: str, text: str, *, now: float) -> Ticket:
    """Verify and decode a ticket; `now` is in Unix seconds.

    Raises:
        BadTicket: The ticket is malformed, forged or expired.
    """
    try:
        head, tail = text.split(".")
        body, mac = _unb64(head), _unb64(tail)
        if not hmac.compare_digest(mac, _mac(secret, body)):
            raise BadTicket("forged")
        topic, expires_at, *rest = json.loads(body)
        bonds = tuple(map(str, rest[0])) if rest else ()
    except (ValueError, TypeError) as error:
        raise BadTicket("malformed") from error
    if now >= expires_at:
        raise BadTicket("expired")
    return Ticket(topic=topic, expires_at=expires_at, bonds=bonds)


def _mac(secret: str, body: bytes) -> bytes:
    return hmac.new(secret.encode(), b"berth-ticket-v1\n" + body, hashlib.sha256).digest()


def _b64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
