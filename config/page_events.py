"""Being told instead of asking again and again: the relay's addresses, with a ticket for one person's own topic."""

from datetime import datetime
from typing import ClassVar

from django.conf import settings
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import ANY_SCOPE
from accounts.models import User
from accounts.selectors import bonds_of
from accounts.web.permissions import asker, holds_scope
from agents.protocol.tickets import sign_ticket
from common import clock
from config.constants import SCRIPT_TICKET_LIFETIME


def relay_address(path: str, *, user: User, expires_at: datetime, news: bool = False) -> str:
    """Where the relay tells that something of this person's changed; with `news` also which instance came to what state."""
    topic, ends = f"{'news' if news else 'user'}:{user.pk.hex}", int(expires_at.timestamp())
    ticket = sign_ticket(settings.RELAY_SECRET, topic=topic, expires_at=ends, bonds=bonds_of(user))
    return f"{settings.RELAY_URL}/relay/v1/{path}?ticket={ticket}"


@extend_schema_field({"type": "string", "format": "uri-reference"})
class Address(serializers.CharField):
    """Of the relay: a path where it answers on the site's own origin, else with its own."""


class Live(serializers.Serializer[dict[str, object]]):
    """Where a script waits for the next change, each address good until it expires; without an origin it is the site's."""

    wait_url = Address(
        help_text='GET with `&since=N`: answers `{"version": M}` as soon as M differs from N, or after 20 to 30 s. Who may '
        "read instances gets `changes`, where all since N are known: each `instance` and the `state` that it came to; "
        "`&instance=…` and `&state=…` wait for those alone"
    )
    events_url = Address(help_text="GET: server-sent events, `change` with the version as id")
    expires_at = serializers.DateTimeField()


class LiveView(APIView):
    """Addresses that tell at once when anything of the asker's has changed: an instance, a volume, a balance."""

    scopes: ClassVar = {"GET": ANY_SCOPE}

    @extend_schema(operation_id="live", responses=Live)
    def get(self, request: Request) -> Response:
        user, expires_at = asker(request), clock.now() + SCRIPT_TICKET_LIFETIME
        reads_instances = holds_scope(request, "instances:read")
        live = {
            "wait_url": relay_address("wait", user=user, expires_at=expires_at, news=reads_instances),
            "events_url": relay_address("events", user=user, expires_at=expires_at),
            "expires_at": expires_at,
        }
        return Response(Live(live).data, headers={"Cache-Control": "no-store"})
