"""Requests of an agent's self-test: transfers for the speed test, tickets for the reachability test.

The requests are counted and limited; nothing else of a test is stored here.
"""

import os
from datetime import datetime
from functools import cache
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.db.models import Case, F, Q, When
from django.db.models.functions import Now

from agents.gateway.constants import SPEED_REQUESTS_PER_WINDOW, SPEED_WINDOW, TICKET_LIFETIME
from agents.gateway.errors import Replayed, Superseded, TooLarge, TooManySpeedTests
from agents.gateway.models import AgentIdentity
from agents.gateway.request_parsing import SignedMessage
from agents.gateway.selectors import authentic_sender
from agents.protocol.port_check import DIAL_PATH, PortCheckTarget
from agents.protocol.speed_test import LARGEST_BYTES
from agents.protocol.tickets import sign_ticket
from common import clock
from marketplace.hosts.selectors import host_endpoints_of

_BOOT_IS_NOT_PRESENT: Final = "Only the agent that syncs may test its speed."


def accept_upload(*, message: SignedMessage, received_at: datetime) -> int:
    """Return how many bytes arrived, whole and unchanged."""
    admit_test_request(message, received_at)
    return len(message.body)


def download_bytes(*, message: SignedMessage, received_at: datetime, count: int) -> bytes:
    """Return `count` random bytes, which nothing on the way can compress."""
    if count > LARGEST_BYTES:
        raise TooLarge(f"At most {LARGEST_BYTES} bytes.")
    admit_test_request(message, received_at)
    return _random_bytes()[:count]


@cache
def _random_bytes() -> bytes:
    """Return random bytes, the same for everyone: knowing them gives an agent no advantage."""
    return os.urandom(LARGEST_BYTES)


def issue_port_check_ticket(*, message: SignedMessage, received_at: datetime, wait_url: str) -> dict[str, str]:
    """Return the relay's URL and a ticket for it, which allows only the host's own address and ports."""
    host_id = admit_test_request(message, received_at)
    doors = host_endpoints_of(host_id)
    reach = PortCheckTarget(host_id.hex, doors.address, doors.port_first, doors.port_last)
    expires_at = int((clock.now() + TICKET_LIFETIME).timestamp())
    parts = urlsplit(wait_url)
    return {
        "url": f"{parts.scheme}://{parts.netloc}{DIAL_PATH}",
        "ticket": sign_ticket(settings.RELAY_SECRET, topic=reach.topic, expires_at=expires_at),
    }


def admit_test_request(message: SignedMessage, received_at: datetime) -> UUID:
    """Count a request of a self-test and return its host; one statement compares and keeps the limit.

    Raises:
        Superseded: The message is not of the present boot.
        Replayed: A message with this or a higher sequence number was counted before.
        TooManySpeedTests: The host has reached the limit.
    """
    host_id, envelope = authentic_sender(message).host_id, message.envelope
    over = Q(speed_since__lte=received_at - SPEED_WINDOW)
    own = AgentIdentity.objects.filter(pk=host_id, boot_id=envelope.boot_id)
    fresh = own.filter(speed_sequence__lt=envelope.sequence)
    counted = fresh.filter(over | Q(speed_count__lt=SPEED_REQUESTS_PER_WINDOW)).update(
        speed_sequence=envelope.sequence,
        speed_count=Case(When(over, then=1), default=F("speed_count") + 1),
        speed_since=Case(When(over, then=Now()), default=F("speed_since")),
    )
    if counted:
        return host_id
    if not own.exists():
        raise Superseded(_BOOT_IS_NOT_PRESENT)
    if not fresh.exists():
        raise Replayed(f"Sequence {envelope.sequence} of this boot was already accepted.")
    raise TooManySpeedTests(f"At most {SPEED_REQUESTS_PER_WINDOW} in {SPEED_WINDOW.seconds // 60} minutes.")
