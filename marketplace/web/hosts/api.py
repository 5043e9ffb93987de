"""API of a host owner's hosts, with the revocation of agent keys."""

from typing import Any, ClassVar

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from common.agent_release import enrol_command
from common.http.pagination import CursorPagination
from common.http.resource_schemas import page_of, schema_of
from common.http.views import validated
from common.ids import parse_public_id, public_id
from common.money import format_money, parse_money
from marketplace.hosts.agent_keys import revoke_own_agent
from marketplace.hosts.host_resources import Host, HostDetail, event_resource, host_resource
from marketplace.hosts.join_tokens import issue_join_token
from marketplace.hosts.offers import change_listing
from marketplace.hosts.selectors import host_events, host_of, hosts_of
from marketplace.web.hosts import serializers
from marketplace.web.hosts.listing_parsing import read_listing


class HostsView(APIView):
    """List your hosts."""

    scopes: ClassVar = {"GET": "hosts:read"}
    ordering = ("name", "id")

    @extend_schema(operation_id="hosts_list", responses=page_of(Host, "HostPage", "A page of your hosts."))
    def get(self, request: Request) -> Response:
        pages = CursorPagination()
        hosts = pages.paginate_queryset(hosts_of(current_user(request).pk), request, self) or []
        return pages.get_paginated_response([host_resource(host) for host in hosts])


class HostView(APIView):
    """Return one of your hosts with its last events."""

    scopes: ClassVar = {"GET": "hosts:read"}

    @extend_schema(operation_id="hosts_retrieve", responses=schema_of(HostDetail))
    def get(self, request: Request, host_id: str) -> Response:
        host = host_of(current_user(request).pk, parse_public_id("host", host_id))
        return Response(
            HostDetail(**vars(host_resource(host)), events=[event_resource(event) for event in host_events(host.pk)])
        )


class ListingView(APIView):
    """Change prices of your host, and which of its offers are listed."""

    scopes: ClassVar = {"PATCH": "hosts:write"}

    @extend_schema(operation_id="hosts_listing", request=serializers.Listing, responses=schema_of(Host))
    def patch(self, request: Request, host_id: str) -> Response:
        changes, until = read_listing(validated(serializers.Listing, request.data))
        key = parse_public_id("host", host_id)
        change_listing(actor_id=current_user(request).pk, host_id=key, changes=changes, until=until)
        return Response(host_resource(host_of(current_user(request).pk, key)))


class RevokeAgentView(APIView):
    """Revoke the agent's key of your host."""

    scopes: ClassVar = {"POST": "hosts:write"}

    @extend_schema(operation_id="hosts_revoke_agent", request=None, responses=schema_of(Host))
    def post(self, request: Request, host_id: str) -> Response:
        """Revoke the agent's key until the host is added again with a new one; idempotent.

        The host counts as not responding: its instances keep running but are not charged, and there are no new
        rentals.
        """
        owner_id, key = current_user(request).pk, parse_public_id("host", host_id)

        def work() -> tuple[int, Any]:
            revoke_own_agent(actor_id=owner_id, host_id=key)
            return 200, host_resource(host_of(owner_id, key))

        return idempotent_response(request, work)


class JoinTokensView(APIView):
    """Create a token for adding one host; it is valid for 15 minutes."""

    scopes: ClassVar = {"POST": "hosts:write"}

    @extend_schema(
        operation_id="join_tokens_create", request=serializers.JoinTokenIn, responses={201: schema_of(serializers.JoinToken)}
    )
    def post(self, request: Request) -> Response:
        wanted = validated(serializers.JoinTokenIn, request.data)
        price_micros = parse_money(wanted.pop("price_hourly"))

        def work() -> tuple[int, Any]:
            token, secret = issue_join_token(owner=current_user(request), price_micros=price_micros, **wanted)
            return 201, _join_token(token, secret)

        return idempotent_response(request, work, once=("token", "command"))


def _join_token(token: Any, secret: str) -> serializers.JoinToken:
    return serializers.JoinToken(
        id=public_id("join", token.pk),
        host_name=token.host_name,
        region=token.region,
        price_hourly=format_money(token.price_micros),
        expires_at=token.expires_at,
        token=secret,
        command=enrol_command(settings.SITE_URL, secret),
    )
