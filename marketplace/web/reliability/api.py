"""API of reliability (public), and of maintenance announced by host owners."""

from typing import Any, ClassVar

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from common import clock
from common.http.pagination import CursorPagination
from common.http.resource_schemas import schema_of
from common.http.views import PublicView, validated
from common.ids import parse_public_id
from marketplace.hosts.host_resources import Host, host_resource
from marketplace.hosts.maintenance import announce_maintenance, cancel_maintenance
from marketplace.hosts.offers import set_draining
from marketplace.hosts.selectors import host_of
from marketplace.reliability.selectors import maintenance_of, reliability_ledger
from marketplace.web.hosts import serializers as hosts
from marketplace.web.reliability import serializers
from marketplace.web.reliability.serializers import maintenance_resource, reliability_resource


class ReliabilityView(PublicView):
    """Return a host's public ledger of the last 30 days, and the score that follows from it."""

    @extend_schema(operation_id="hosts_reliability", responses=schema_of(serializers.Reliability))
    def get(self, request: Request, host_id: str) -> Response:
        return Response(reliability_resource(reliability_ledger(parse_public_id("host", host_id), clock.now())))


class MaintenancesView(APIView):
    """List announced maintenance of your host."""

    scopes: ClassVar = {"GET": "hosts:read", "POST": "hosts:write"}
    ordering = ("-starts_at", "-id")

    @extend_schema(operation_id="hosts_maintenance_list", responses=serializers.MaintenancePage)
    def get(self, request: Request, host_id: str) -> Response:
        host, pages = host_of(current_user(request).pk, parse_public_id("host", host_id)), CursorPagination()
        windows = pages.paginate_queryset(maintenance_of(host.pk), request, self) or []
        return pages.get_paginated_response([maintenance_resource(window) for window in windows])

    @extend_schema(
        operation_id="hosts_maintenance",
        request=PolymorphicProxySerializer(
            "MaintenanceRequest", [serializers.Announcement, hosts.Maintenance], resource_type_field_name=None
        ),
        responses={
            200: PolymorphicProxySerializer(
                "MaintenanceReply",
                [schema_of(serializers.MaintenanceWindow), schema_of(Host)],
                resource_type_field_name=None,
            ),
            201: schema_of(serializers.MaintenanceWindow),
        },
    )
    def post(self, request: Request, host_id: str) -> Response:
        """Announce maintenance with a category and two times, or pause new rentals now with `{"draining": true}`."""
        key, owner_id = parse_public_id("host", host_id), current_user(request).pk
        drains = isinstance(request.data, dict) and "draining" in request.data
        wanted = validated(hosts.Maintenance if drains else serializers.Announcement, request.data)

        def work() -> tuple[int, Any]:
            if drains:
                set_draining(actor_id=owner_id, host_id=key, draining=wanted["draining"])
                return 200, host_resource(host_of(owner_id, key))
            return 201, maintenance_resource(announce_maintenance(actor_id=owner_id, host_id=key, **wanted))

        return idempotent_response(request, work)


class MaintenanceView(APIView):
    """Cancel maintenance of your host."""

    scopes: ClassVar = {"DELETE": "hosts:write"}

    @extend_schema(operation_id="hosts_maintenance_cancel", responses={200: schema_of(serializers.MaintenanceWindow)})
    def delete(self, request: Request, host_id: str, maintenance_id: str) -> Response:
        """Cancel announced maintenance, or end it early."""
        key, which = parse_public_id("host", host_id), parse_public_id("mtn", maintenance_id)
        window = cancel_maintenance(actor_id=current_user(request).pk, host_id=key, maintenance_id=which)
        return Response(maintenance_resource(window))
