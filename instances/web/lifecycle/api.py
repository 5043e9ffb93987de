"""API of re-imaging and resizing instances, saving them as images, and the progress of pulls."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from common.http.resource_schemas import schema_of
from common.http.views import validated
from common.money import parse_money
from instances.core.selectors import instance_of
from instances.lifecycle.reimage import cancel_reimage, reimage_instance
from instances.lifecycle.resize import price_of_size, resize_instance, size_of
from instances.lifecycle.save_image import save_image_of
from instances.web.launch.serializers import given_settings
from instances.web.lifecycle import serializers
from instances.web.lifecycle.serializers import size_resource
from instances.web.resources import InstanceOut
from instances.web.responses import (
    idempotent_instance_response,
    instance_id_of,
    instance_response,
    may_connect,
    require_connect_scope_for,
    require_connect_scope_to_run,
)
from storage.images.selectors import find_image, pull_of
from storage.web.images import serializers as image_serializers


class ReimageView(APIView):
    """Re-imaging: a fresh root file system from an image; the data disk stays."""

    scopes: ClassVar = {"POST": "instances:write", "DELETE": "instances:write"}

    @extend_schema(operation_id="instances_reimage", request=serializers.ReimageIn, responses={202: schema_of(InstanceOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        """Rebuild the system disk from an image; the data disk is kept.

        Takes effect immediately on a running instance, and at the next start of a stopped one. If it fails, the
        previous system disk is restored. Launch settings, and an image that isn't official, also require the
        scope `instances:connect`, since their programs can read the stored data.
        """
        wanted = validated(serializers.ReimageIn, request.data)
        order = {"image": wanted["image"], "launch": given_settings(wanted)}
        renter, row_id = current_user(request), instance_id_of(instance_id)
        require_connect_scope_for(request, find_image(wanted["image"], renter))
        require_connect_scope_to_run(request, order["launch"])
        return idempotent_instance_response(
            request, lambda: (202, instance_response(reimage_instance(renter=renter, instance_id=row_id, **order)))
        )

    @extend_schema(operation_id="instances_reimage_take_back", responses={200: schema_of(InstanceOut)})
    def delete(self, request: Request, instance_id: str) -> Response:
        """Cancel an image change that has not started, and keep the current system disk.

        Idempotent.
        """
        kept = cancel_reimage(renter=current_user(request), instance_id=instance_id_of(instance_id))
        return Response(instance_response(kept, opens=may_connect(request)))


class ResizeView(APIView):
    """Number of GPUs and size of the data disk."""

    scopes: ClassVar = {"GET": "instances:read", "POST": "instances:write"}

    @extend_schema(
        operation_id="instances_resize_price",
        parameters=[serializers.SizeIn],
        responses={
            200: schema_of(serializers.SizeOut),
            409: OpenApiResponse(description="This size is not available right now; `code` says why"),
        },
    )
    def get(self, request: Request, instance_id: str) -> Response:
        """Return what a new size would cost, without changing anything.

        Fails like the resize itself if the size is not possible.
        """
        wanted = validated(serializers.SizeIn, request.query_params)
        instance = instance_of(current_user(request), instance_id_of(instance_id))
        return Response(size_resource(price_of_size(instance, **_size(wanted)), size_of(instance)))

    @extend_schema(operation_id="instances_resize", request=serializers.ResizeIn, responses={202: schema_of(InstanceOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        """Change the number of GPUs of a stopped instance, or expand its data disk."""
        wanted = validated(serializers.ResizeIn, request.data)
        limits = {"max_rate_micros": wanted.get("max_hourly_rate"), "max_disk_micros_per_day": wanted.get("max_disk_daily")}
        most: dict[str, Any] = {name: None if text is None else parse_money(text) for name, text in limits.items()}
        who: dict[str, Any] = {"renter": current_user(request), "instance_id": instance_id_of(instance_id)}
        return idempotent_instance_response(
            request, lambda: (202, instance_response(resize_instance(**who, **_size(wanted), **most)))
        )


def _size(wanted: dict[str, Any]) -> dict[str, Any]:
    return {name: wanted.get(name) for name in ("gpu_count", "data_disk_gb")}


class SaveImageView(APIView):
    """Save the system disk of a running or stopped instance as one of your images."""

    scopes: ClassVar = {"POST": "instances:write"}

    @extend_schema(
        operation_id="instances_save_image",
        request=image_serializers.SaveImageIn,
        responses={202: schema_of(image_serializers.ImageOut)},
    )
    def post(self, request: Request, instance_id: str) -> Response:
        renter, row_id = current_user(request), instance_id_of(instance_id)
        instance_of(renter, row_id)
        wanted = validated(image_serializers.SaveImageIn, request.data)
        return idempotent_response(
            request,
            lambda: (
                202,
                image_serializers.image_resource(save_image_of(renter=renter, instance_id=row_id, **wanted), renter),
            ),
        )


class PullView(APIView):
    """Return the progress of pulling the instance's image, by layer."""

    scopes: ClassVar = {"GET": "instances:read"}

    @extend_schema(operation_id="instances_pull", responses=schema_of(image_serializers.PullOut))
    def get(self, request: Request, instance_id: str) -> Response:
        instance = instance_of(current_user(request), instance_id_of(instance_id))
        return Response(image_serializers.pull_resource(pull_of(instance.pk)))
