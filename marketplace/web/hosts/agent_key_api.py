"""API for revoking the key of a host's agent."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.idempotency import reply_once
from accounts.web.permissions import asker
from common.ids import parse_public_id
from marketplace.hosts.agent_keys import revoke_own_agent
from marketplace.hosts.representation import host_shape
from marketplace.hosts.selectors import host_of
from marketplace.web.hosts import serializers as shapes


class RevokeAgentView(APIView):
    """Revoke the agent's key of your host."""

    scopes: ClassVar = {"POST": "hosts:write"}

    @extend_schema(operation_id="hosts_revoke_agent", request=None, responses=shapes.Host)
    def post(self, request: Request, host_id: str) -> Response:
        """Refuse the agent from now on, until the host is enrolled with a new key; repeating it is harmless.

        The host counts as silent: its instances run on where they are, nobody pays for them, and nothing new
        is rented.
        """
        owner_id, key = asker(request).pk, parse_public_id("host", host_id)

        def work() -> tuple[int, Any]:
            revoke_own_agent(actor_id=owner_id, host_id=key)
            return 200, host_shape(host_of(owner_id, key))

        return reply_once(request, work)
