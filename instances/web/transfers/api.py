"""API of clones and migrations."""

from typing import Any, ClassVar, cast

from drf_spectacular.utils import extend_schema
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.permissions import current_user
from common.http.resource_schemas import list_of, schema_of
from common.http.views import validated
from common.ids import parse_public_id
from common.money import parse_money
from instances.core.selectors import instance_of, quote_of
from instances.models import Move
from instances.transfers.completion import cancel_transfer
from instances.transfers.selectors import transfers_of
from instances.transfers.start import Destination, clone_instance, migrate_instance
from instances.web.launch.serializers import given_settings
from instances.web.resources import OFFER_PREFIX, QUOTE_PREFIX, InstanceOut
from instances.web.responses import (
    idempotent_instance_response,
    instance_id_of,
    instance_response,
    require_connect_scope_to_run,
)
from instances.web.transfers import serializers
from instances.web.transfers.serializers import move_resource

WRITE: dict[str, str] = {"POST": "instances:write"}


class CloneView(APIView):
    """Clones of a stopped instance."""

    scopes: ClassVar = WRITE

    @extend_schema(operation_id="instances_clone", request=serializers.CloneIn, responses={201: schema_of(InstanceOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        """Clone a stopped instance into a new one, with or without a copy of its data disk.

        The clone is rented like any other instance: on demand at the offer's current price, unless a quote says
        otherwise. It is `copying` until the copy is complete, and charged once it runs; the source can be
        started again after copying. Changing launch settings also requires the scope `instances:connect`.
        """
        wanted = validated(serializers.CloneIn, request.data)
        order: dict[str, Any] = {name: wanted[name] for name in ("data_disk", "name")}
        order |= {"to": _destination(wanted), "launch": given_settings(wanted)}
        who: dict[str, Any] = {"renter": current_user(request), "instance_id": instance_id_of(instance_id)}
        quote_id = order["to"].quote_id
        require_connect_scope_to_run(request, order["launch"] or (quote_id and quote_of(who["renter"], quote_id).launch_id))
        return idempotent_instance_response(request, lambda: (201, instance_response(clone_instance(**who, **order))))


class MigrateView(APIView):
    """Migration of a stopped instance to another host."""

    scopes: ClassVar = WRITE

    @extend_schema(operation_id="instances_migrate", request=serializers.MigrateIn, responses={202: schema_of(InstanceOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        """Migrate a stopped instance to another host, with its id, name, history, system disk and data disk.

        It starts on the new host once everything is copied; until it has run there, the old host keeps its data
        unchanged.
        """
        to = _destination(validated(serializers.MigrateIn, request.data))
        who: dict[str, Any] = {"renter": current_user(request), "instance_id": instance_id_of(instance_id)}
        return idempotent_instance_response(request, lambda: (202, instance_response(migrate_instance(**who, to=to))))


class CancelMoveView(APIView):
    """Cancel a clone or migration while it is copying.

    The source is unchanged, and an unfinished clone is released.
    """

    scopes: ClassVar = WRITE

    @extend_schema(operation_id="instances_cancel_move", request=None, responses={202: schema_of(InstanceOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        renter, row_id = current_user(request), instance_id_of(instance_id)
        return idempotent_instance_response(
            request, lambda: (202, instance_response(cancel_transfer(renter=renter, instance_id=row_id)))
        )


class MovesView(GenericAPIView[Move]):
    """List all clones and migrations from or to an instance, newest first, with their progress."""

    scopes: ClassVar = {"GET": "instances:read"}
    serializer_class = schema_of(serializers.MoveOut)
    ordering: ClassVar = ("-created_at", "-id")

    @extend_schema(operation_id="instances_moves", responses=list_of(serializers.MoveOut))
    def get(self, request: Request, instance_id: str) -> Response:
        renter = current_user(request)
        moves = transfers_of(renter, instance_of(renter, instance_id_of(instance_id)).pk)
        page = cast("list[Move]", self.paginate_queryset(moves))
        return self.get_paginated_response([move_resource(move) for move in page])


def _destination(wanted: dict[str, Any]) -> Destination:
    quote, offer, most = (wanted.get(name) for name in ("quote_id", "offer", "max_hourly_rate"))
    return Destination(
        quote_id=parse_public_id(QUOTE_PREFIX, quote) if quote else None,
        offer_id=parse_public_id(OFFER_PREFIX, offer) if offer else None,
        gpu_count=wanted.get("gpu_count"),
        max_rate_micros=parse_money(most) if most else None,
    )
