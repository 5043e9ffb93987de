"""Relay addresses that an agent is told: its WebSocket, and the ports that lead to its instances."""

from collections.abc import Sequence
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings

from agents.gateway.constants import LINK_PATH, TICKET_LIFETIME
from agents.protocol.messages import Tunnel
from agents.protocol.tickets import sign_ticket
from common import clock
from instances.constants import SSH_PORT
from instances.core.selectors import DesiredRow
from instances.states import Desired


def link_address(wait_url: str) -> str:
    """Return the address of the relay's WebSocket for agents, which is on the server where they wait."""
    parts = urlsplit(wait_url)
    return f"{'wss' if parts.scheme == 'https' else 'ws'}://{parts.netloc}{LINK_PATH}"


def link_ticket(host_id: UUID) -> str:
    return _ticket(f"link:{host_id.hex}")


def tunnels_of(host_id: UUID, rows: Sequence[DesiredRow]) -> list[Tunnel]:
    """Return a tunnel for every port of every instance that should run.

    The relay's port is the outside port that the instance was given for it.
    """
    return [
        Tunnel(
            relay_port=outside,
            instance=UUID(str(row.id)).hex,
            port=inside,
            ticket=_ticket(f"tunnel:{outside}:{host_id.hex}"),
            allow=list(row.allow_from) if inside == SSH_PORT else [],
        )
        for row in rows
        if row.run == Desired.RUNNING
        for inside, outside in row.ports
    ]


def _ticket(topic: str) -> str:
    expires_at = int((clock.now() + TICKET_LIFETIME).timestamp())
    return sign_ticket(settings.RELAY_SECRET, topic=topic, expires_at=expires_at)
