"""API of growing volumes, and of moving and copying them to other hosts."""

from typing import Any, ClassVar, cast

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import STORAGE_SCOPES
from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from common.http.resource_schemas import list_of, schema_of
from common.http.views import validated
from common.ids import parse_public_id
from common.money import parse_money
from instances.volumes.transfers import copy_volume_to_host, move_volume_to_host
from instances.web.resources import HOST_PREFIX
from instances.web.volumes import resources, serializers
from instances.web.volumes.resources import VOLUME_PREFIX, shown_volume, volume_move_resource
from storage.volumes.grow import resize_volume
from storage.volumes.selectors import volume_of
from storage.volumes.transfer_completion import cancel_volume_transfer
from storage.volumes.transfer_selectors import moves_of_volume


class VolumeResizeView(APIView):
    """Growing of a volume, attached or not."""

    scopes: ClassVar = STORAGE_SCOPES

    @extend_schema(
        operation_id="volumes_resize", request=serializers.ResizeVolumeIn, responses={202: schema_of(resources.VolumeOut)}
    )
    def post(self, request: Request, volume_id: str) -> Response:
        """Expand a volume.

        A volume in use is expanded online if the host's kernel supports it, otherwise at the instance's next
        start. `growth` has the new size and price; with ?dry_run=true nothing else happens.
        """
        wanted, owner = validated(serializers.ResizeVolumeIn, request.data), current_user(request)
        row_id = parse_public_id(VOLUME_PREFIX, volume_id)
        order: dict[str, Any] = {"owner": owner, "volume_id": row_id, "size_gb": wanted["size_gb"], **_most(wanted)}
        return idempotent_response(request, lambda: (202, shown_volume(owner, resize_volume(**order).pk)))


class VolumeMoveView(APIView):
    """Moving of a volume that is not attached."""

    scopes: ClassVar = STORAGE_SCOPES

    @extend_schema(
        operation_id="volumes_move", request=serializers.MoveVolumeIn, responses={202: schema_of(resources.VolumeOut)}
    )
    def post(self, request: Request, volume_id: str) -> Response:
        """Move a detached volume to another host in its region.

        It keeps its id and name. The old host keeps the data unchanged until the new host has all of it.
        """
        wanted, owner = validated(serializers.MoveVolumeIn, request.data), current_user(request)
        row_id = parse_public_id(VOLUME_PREFIX, volume_id)
        order: dict[str, Any] = {"owner": owner, "volume_id": row_id, **_place(wanted), **_most(wanted)}
        return idempotent_response(request, lambda: (202, shown_volume(owner, move_volume_to_host(**order).target_id)))


class VolumeCopyView(APIView):
    """Copying of a volume that is not attached."""

    scopes: ClassVar = STORAGE_SCOPES

    @extend_schema(
        operation_id="volumes_copy", request=serializers.CopyVolumeIn, responses={201: schema_of(resources.VolumeOut)}
    )
    def post(self, request: Request, volume_id: str) -> Response:
        """Copy a detached volume to a new one on another host, in any region.

        Returns the new volume, which is charged once it is ready.
        """
        wanted, owner = validated(serializers.CopyVolumeIn, request.data), current_user(request)
        row_id, name = parse_public_id(VOLUME_PREFIX, volume_id), wanted["name"]
        order: dict[str, Any] = {"owner": owner, "volume_id": row_id, "name": name, **_place(wanted), **_most(wanted)}
        return idempotent_response(request, lambda: (201, shown_volume(owner, copy_volume_to_host(**order).target_id)))


class VolumeCancelMoveView(APIView):
    """Cancel a transfer while it is copying.

    The volume is unchanged, and an unfinished copy is discarded.
    """

    scopes: ClassVar = STORAGE_SCOPES

    @extend_schema(operation_id="volumes_cancel_move", request=None, responses={202: schema_of(resources.VolumeOut)})
    def post(self, request: Request, volume_id: str) -> Response:
        owner, row_id = current_user(request), parse_public_id(VOLUME_PREFIX, volume_id)
        return idempotent_response(
            request, lambda: (202, shown_volume(owner, cancel_volume_transfer(owner=owner, volume_id=row_id).pk))
        )


class VolumeMovesView(GenericAPIView[Any]):
    """List all transfers from or to a volume, newest first."""

    scopes: ClassVar = STORAGE_SCOPES
    serializer_class = schema_of(resources.VolumeMoveOut)
    ordering: ClassVar = ("-created_at", "-id")

    def get_queryset(self) -> QuerySet[Any]:
        row_id = parse_public_id(VOLUME_PREFIX, self.kwargs["volume_id"])
        return moves_of_volume(volume_of(current_user(self.request).pk, row_id).pk)

    @extend_schema(operation_id="volumes_moves", responses=list_of(resources.VolumeMoveOut))
    def get(self, request: Request, volume_id: str) -> Response:
        page = cast("list[Any]", self.paginate_queryset(self.get_queryset()))
        return self.get_paginated_response([volume_move_resource(row) for row in page])


def _place(wanted: dict[str, Any]) -> dict[str, Any]:
    return {"host_id": parse_public_id(HOST_PREFIX, wanted["host"])}


def _most(wanted: dict[str, Any]) -> dict[str, Any]:
    most = wanted.get("max_daily_rate")
    return {"max_micros_per_day": parse_money(most) if most else None}
