"""Tickets for the reachability test, which allow only the host's own address and ports."""

from datetime import datetime
from urllib.parse import urlsplit

from django.conf import settings

from agents.gateway.constants import TICKET_LIFETIME
from agents.gateway.request_parsing import SignedMessage
from agents.gateway.services.speed_test import admit_beside
from agents.protocol.port_check import DIAL_PATH, Reach
from agents.protocol.tickets import sign_ticket
from common import clock
from marketplace.hosts.selectors import host_doors


def give_leave(*, message: SignedMessage, received_at: datetime, wait_url: str) -> dict[str, str]:
    """Return the relay's URL and a ticket for it; counts as a request of the self-test."""
    host_id = admit_beside(message, received_at)
    doors = host_doors(host_id)
    reach = Reach(host_id.hex, doors.address, doors.port_first, doors.port_last)
    expires_at = int((clock.now() + TICKET_LIFETIME).timestamp())
    parts = urlsplit(wait_url)
    return {
        "url": f"{parts.scheme}://{parts.netloc}{DIAL_PATH}",
        "ticket": sign_ticket(settings.RELAY_SECRET, topic=reach.topic, expires_at=expires_at),
    }
