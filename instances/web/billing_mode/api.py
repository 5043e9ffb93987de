"""API of billing changes: another mode, a longer term, a stop that keeps GPUs."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.permissions import current_user
from common.http.resource_schemas import schema_of
from common.http.views import validated
from instances.billing_mode.convert import convert_instance, extend_instance
from instances.lifecycle.stop import stop_instance
from instances.web.metering import serializers
from instances.web.orders.request_parsing import parse_order
from instances.web.resources import InstanceOut
from instances.web.responses import idempotent_instance_response, instance_id_of, instance_response

WRITE: dict[str, str] = {"POST": "instances:write"}


class StopView(APIView):
    """Stop a running instance and keep its data, or release the GPUs that a stopped one keeps."""

    scopes: ClassVar = WRITE

    @extend_schema(operation_id="instances_stop", request=serializers.StopIn, responses={202: schema_of(InstanceOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        hold = validated(serializers.StopIn, request.data)["hold"]
        renter, row_id = current_user(request), instance_id_of(instance_id)
        return idempotent_instance_response(
            request, lambda: (202, instance_response(stop_instance(renter=renter, instance_id=row_id, hold=hold)))
        )


class ConvertView(APIView):
    """Change the billing mode of an instance without interrupting it, using a quote for this instance."""

    scopes: ClassVar = WRITE

    @extend_schema(operation_id="instances_convert", request=serializers.ConvertIn, responses={202: schema_of(InstanceOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        order: dict[str, Any] = parse_order(validated(serializers.ConvertIn, request.data))
        who: dict[str, Any] = {"renter": current_user(request), "instance_id": instance_id_of(instance_id)}
        return idempotent_instance_response(request, lambda: (202, instance_response(convert_instance(**who, **order))))


class ExtendView(APIView):
    """Renew the reserved term in advance using a quote, or turn auto-renew on or off."""

    scopes: ClassVar = WRITE

    @extend_schema(operation_id="instances_extend", request=serializers.ExtendIn, responses={202: schema_of(InstanceOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        order: dict[str, Any] = parse_order(validated(serializers.ExtendIn, request.data))
        who: dict[str, Any] = {"renter": current_user(request), "instance_id": instance_id_of(instance_id)}
        return idempotent_instance_response(request, lambda: (202, instance_response(extend_instance(**who, **order))))
