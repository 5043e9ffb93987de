"""API of a spot rent's bid."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.permissions import current_user
from common.http.resource_schemas import schema_of
from common.http.views import validated
from common.money import parse_money
from instances.spot.bid_changes import change_bid, withdraw_bid
from instances.web.metering import serializers
from instances.web.resources import InstanceOut
from instances.web.responses import idempotent_instance_response, instance_id_of, instance_response, may_connect


class BidView(APIView):
    """The most that a spot rent pays per GPU and hour."""

    scopes: ClassVar = {"POST": "instances:write", "DELETE": "instances:write"}

    @extend_schema(operation_id="instances_bid", request=serializers.BidIn, responses={200: schema_of(InstanceOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        """Change the max price of a spot instance while it runs.

        An interruption notice is withdrawn if the new max price wins in time.
        """
        most = parse_money(validated(serializers.BidIn, request.data)["max_price"])
        renter, row_id = current_user(request), instance_id_of(instance_id)
        return idempotent_instance_response(
            request, lambda: (200, instance_response(change_bid(renter=renter, instance_id=row_id, max_price_micros=most)))
        )

    @extend_schema(operation_id="instances_bid_withdraw", responses={200: schema_of(InstanceOut)})
    def delete(self, request: Request, instance_id: str) -> Response:
        """Withdraw the bid of an interrupted instance, so that it does not resume automatically.

        Idempotent.
        """
        withdrawn = withdraw_bid(renter=current_user(request), instance_id=instance_id_of(instance_id))
        return Response(instance_response(withdrawn, opens=may_connect(request)))
