"""API of a host owner's earnings."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.permissions import current_user
from common import clock
from common.http.resource_schemas import schema_of
from common.http.views import validated
from common.ids import parse_public_id
from instances.web.earnings import serializers
from marketplace.hosts.selectors import host_of


class EarningsView(APIView):
    """Return the earnings of all your hosts."""

    scopes: ClassVar = {"GET": "hosts:read"}

    @extend_schema(
        operation_id="hosts_earnings_all", parameters=[serializers.EarningsIn], responses=schema_of(serializers.EarningsOut)
    )
    def get(self, request: Request) -> Response:
        wanted, owner_id, now = (
            validated(serializers.EarningsIn, request.query_params),
            current_user(request).pk,
            clock.now(),
        )
        return Response(serializers.all_earnings(owner_id, wanted, now=now))


class HostEarningsView(APIView):
    """Return the earnings of one of your hosts."""

    scopes: ClassVar = {"GET": "hosts:read"}

    @extend_schema(
        operation_id="hosts_earnings",
        parameters=[serializers.HostEarningsIn],
        responses=schema_of(serializers.HostEarningsOut),
    )
    def get(self, request: Request, host_id: str) -> Response:
        wanted, owner_id = validated(serializers.HostEarningsIn, request.query_params), current_user(request).pk
        host = host_of(owner_id, parse_public_id("host", host_id))
        return Response(serializers.host_earnings(owner_id, wanted, now=clock.now(), host_id=host.pk))
