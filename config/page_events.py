"""Addresses at the relay for changes, with a ticket for one user's own topic."""

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
from accounts.selectors import ticket_credentials_of
from accounts.web.permissions import current_user, holds_scope
from agents.protocol.tickets import sign_ticket
from common import clock
from config.constants import SCRIPT_TICKET_LIFETIME


def relay_url_for(path: str, *, user: User, expires_at: datetime, news: bool = False) -> str:
    """Return the relay's address for the user's changes; with `news` it also tells instances' new states."""
    topic, ends = f"{'news' if news else 'user'}:{user.pk.hex}", int(expires_at.timestamp())
    ticket = sign_ticket(settings.RELAY_SECRET, topic=topic, expires_at=ends, bonds=ticket_credentials_of(user))
    return f"{settings.RELAY_URL}/relay/v1/{path}?ticket={ticket}"


@extend_schema_field({"type": "string", "format": "uri-reference"})
class RelayUrlField(serializers.CharField):
    """Address at the relay: absolute, or a path if the relay has the site's own origin."""


class Live(serializers.Serializer[dict[str, object]]):
    """Addresses for waiting for the next change, valid until `expires_at`.

    A path without an origin is relative to the site.
    """

    wait_url = RelayUrlField(
        help_text='GET with `&since=N`: answers `{"version": M}` as soon as M differs from N, or after 20 to 30 s. Who may '
        "read instances gets `changes`, where all since N are known: each `instance` and the `state` that it came to; "
        "`&instance=…` and `&state=…` wait for those alone"
    )
    events_url = RelayUrlField(help_text="GET: server-sent events, `change` with the version as id")
    expires_at = serializers.DateTimeField()


class LiveView(APIView):
    """Get addresses that notify you as soon as an instance, a volume or your balance changes."""

    scopes: ClassVar = {"GET": ANY_SCOPE}

    @extend_schema(operation_id="live", responses=Live)
    def get(self, request: Request) -> Response:
        user, expires_at = current_user(request), clock.now() + SCRIPT_TICKET_LIFETIME
        reads_instances = holds_scope(request, "instances:read")
        live = {
            "wait_url": relay_url_for("wait", user=user, expires_at=expires_at, news=reads_instances),
            "events_url": relay_url_for("events", user=user, expires_at=expires_at),
            "expires_at": expires_at,
        }
        return Response(Live(live).data, headers={"Cache-Control": "no-store"})
