"""The API of changing how an instance is billed: another mode, a longer term, a stop that keeps its GPUs."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.permissions import asker
from common.endpoints import checked
from instances import billing_schema, schema
from instances.orders import read_order
from instances.replies import instance_id_of, reply_with_instance, shown
from instances.services.convert import convert_instance, extend_instance
from instances.services.stop import stop_instance

WRITE: dict[str, str] = {"POST": "instances:write"}


class StopView(APIView):
    """Stop a running instance, its data stays; or let go of GPUs that a stopped one keeps."""

    scopes: ClassVar = WRITE

    @extend_schema(operation_id="instances_stop", request=billing_schema.StopIn, responses={202: schema.InstanceOut})
    def post(self, request: Request, instance_id: str) -> Response:
        hold = checked(billing_schema.StopIn, request.data)["hold"]
        renter, row_id = asker(request), instance_id_of(instance_id)
        return reply_with_instance(
            request, lambda: (202, shown(stop_instance(renter=renter, instance_id=row_id, hold=hold)))
        )


class ConvertView(APIView):
    """Change the billing mode in place, as a quote for this instance says."""

    scopes: ClassVar = WRITE

    @extend_schema(operation_id="instances_convert", request=billing_schema.ConvertIn, responses={202: schema.InstanceOut})
    def post(self, request: Request, instance_id: str) -> Response:
        order: dict[str, Any] = read_order(checked(billing_schema.ConvertIn, request.data))
        who: dict[str, Any] = {"renter": asker(request), "instance_id": instance_id_of(instance_id)}
        return reply_with_instance(request, lambda: (202, shown(convert_instance(**who, **order))))


class ExtendView(APIView):
    """Renew the reserved term ahead, or say whether it renews itself."""

    scopes: ClassVar = WRITE

    @extend_schema(operation_id="instances_extend", request=billing_schema.ExtendIn, responses={202: schema.InstanceOut})
    def post(self, request: Request, instance_id: str) -> Response:
        order: dict[str, Any] = read_order(checked(billing_schema.ExtendIn, request.data))
        who: dict[str, Any] = {"renter": asker(request), "instance_id": instance_id_of(instance_id)}
        return reply_with_instance(request, lambda: (202, shown(extend_instance(**who, **order))))
