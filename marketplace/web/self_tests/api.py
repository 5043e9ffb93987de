"""API of a host owner's self-tests: the last ones with their checks, and requests for one."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from common.http.resource_schemas import schema_of
from common.ids import parse_public_id
from marketplace.self_tests.selectors import self_tests_of
from marketplace.self_tests.services import request_self_test
from marketplace.web.self_tests import serializers


class SelfTestView(APIView):
    """List the last self-tests of your host."""

    scopes: ClassVar = {"GET": "hosts:read", "POST": "hosts:write"}

    @extend_schema(operation_id="hosts_self_test", responses=schema_of(serializers.SelfTests))
    def get(self, request: Request, host_id: str) -> Response:
        tests = self_tests_of(current_user(request).pk, parse_public_id("host", host_id))
        return Response(serializers.SelfTests(results=[serializers.self_test_resource(test) for test in tests]))

    @extend_schema(operation_id="hosts_self_test_ask", request=None, responses={202: schema_of(serializers.SelfTestShape)})
    def post(self, request: Request, host_id: str) -> Response:
        """Request a self-test of your host; one that is in progress is returned instead."""
        key = parse_public_id("host", host_id)

        def work() -> tuple[int, Any]:
            return 202, serializers.self_test_resource(request_self_test(actor_id=current_user(request).pk, host_id=key))

        return idempotent_response(request, work)
