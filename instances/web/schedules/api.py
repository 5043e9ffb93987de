"""API of keeping a stopped instance's data for longer."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.permissions import current_user
from common.http.resource_schemas import schema_of
from common.http.views import validated
from common.money import parse_money
from instances.retention.data_retention import keep_data
from instances.web.resources import InstanceOut
from instances.web.responses import idempotent_instance_response, instance_id_of, instance_response
from instances.web.schedules import serializers


class KeepView(APIView):
    """Extend the data retention of a stopped instance by a number of days, for a fee that is held immediately."""

    scopes: ClassVar = {"POST": "instances:write"}

    @extend_schema(operation_id="instances_keep", request=serializers.KeepIn, responses={202: schema_of(InstanceOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        wanted = validated(serializers.KeepIn, request.data)
        most = wanted.pop("max_fee", None)
        who: dict[str, Any] = {"renter": current_user(request), "instance_id": instance_id_of(instance_id)}
        limit = None if most is None else parse_money(most)
        return idempotent_instance_response(
            request, lambda: (202, instance_response(keep_data(**who, **wanted, max_fee_micros=limit)))
        )
