"""API of re-imaging and resizing instances, saving them as images, and the progress of pulls."""

from typing import Any, ClassVar

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.idempotency import reply_once
from accounts.web.permissions import asker
from common.http.resource_schemas import schema_of
from common.http.views import checked
from common.money import parse_money
from instances.core.selectors import instance_of
from instances.lifecycle.reimage import reimage_instance, take_back_reimage
from instances.lifecycle.resize import price_of_size, resize_instance, size_of
from instances.lifecycle.save_image import save_image_of
from instances.web.lifecycle import serializers
from instances.web.lifecycle.serializers import size_resource
from instances.web.resources import InstanceOut
from instances.web.responses import instance_id_of, may_connect, reply_with_instance, require_entry_for, shown
from storage.images.selectors import find_image, pull_of
from storage.web.images import serializers as image_serializers


class ReimageView(APIView):
    """Re-imaging: a fresh root file system from an image; the data disk stays."""

    scopes: ClassVar = {"POST": "instances:write", "DELETE": "instances:write"}

    @extend_schema(operation_id="instances_reimage", request=serializers.ReimageIn, responses={202: schema_of(InstanceOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        """Replace the root file system by a fresh one from an image; the data disk stays.

        A running instance gets it at once, a stopped one at its next start. If it fails, the former root runs again.
        An image that is not the market's own also needs the scope `instances:connect`, since its programs run beside
        the kept data.
        """
        image = checked(serializers.ReimageIn, request.data)["image"]
        renter, row_id = asker(request), instance_id_of(instance_id)
        require_entry_for(request, find_image(image, renter))
        return reply_with_instance(
            request, lambda: (202, shown(reimage_instance(renter=renter, instance_id=row_id, image=image)))
        )

    @extend_schema(operation_id="instances_reimage_take_back", responses={200: schema_of(InstanceOut)})
    def delete(self, request: Request, instance_id: str) -> Response:
        """Cancel a re-image that has not begun, and keep the present root.

        Repeating it changes nothing.
        """
        kept = take_back_reimage(renter=asker(request), instance_id=instance_id_of(instance_id))
        return Response(shown(kept, opens=may_connect(request)))


class ResizeView(APIView):
    """Number of GPUs and size of the data disk."""

    scopes: ClassVar = {"GET": "instances:read", "POST": "instances:write"}

    @extend_schema(
        operation_id="instances_resize_price",
        parameters=[serializers.SizeIn],
        responses={
            200: schema_of(serializers.SizeOut),
            409: OpenApiResponse(description="This size cannot be had now; `code` says why"),
        },
    )
    def get(self, request: Request, instance_id: str) -> Response:
        """Return what a size would cost, without changing anything.

        A size that is not possible is refused like the resize itself.
        """
        wanted = checked(serializers.SizeIn, request.query_params)
        instance = instance_of(asker(request), instance_id_of(instance_id))
        return Response(size_resource(price_of_size(instance, **_size(wanted)), size_of(instance)))

    @extend_schema(operation_id="instances_resize", request=serializers.ResizeIn, responses={202: schema_of(InstanceOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        """Change the number of GPUs of a stopped instance, or grow its data disk."""
        wanted = checked(serializers.ResizeIn, request.data)
        limits = {"max_rate_micros": wanted.get("max_hourly_rate"), "max_disk_micros_per_day": wanted.get("max_disk_daily")}
        most: dict[str, Any] = {name: None if text is None else parse_money(text) for name, text in limits.items()}
        who: dict[str, Any] = {"renter": asker(request), "instance_id": instance_id_of(instance_id)}
        return reply_with_instance(request, lambda: (202, shown(resize_instance(**who, **_size(wanted), **most))))


def _size(wanted: dict[str, Any]) -> dict[str, Any]:
    return {name: wanted.get(name) for name in ("gpu_count", "data_disk_gb")}


class SaveImageView(APIView):
    """Save the root file system of a running or stopped instance as one of your images."""

    scopes: ClassVar = {"POST": "instances:write"}

    @extend_schema(
        operation_id="instances_save_image",
        request=image_serializers.SaveImageIn,
        responses={202: schema_of(image_serializers.ImageOut)},
    )
    def post(self, request: Request, instance_id: str) -> Response:
        renter, row_id = asker(request), instance_id_of(instance_id)
        instance_of(renter, row_id)
        wanted = checked(image_serializers.SaveImageIn, request.data)
        return reply_once(
            request,
            lambda: (
                202,
                image_serializers.image_resource(save_image_of(renter=renter, instance_id=row_id, **wanted), renter),
            ),
        )


class PullView(APIView):
    """Return how far the host has pulled the instance's image, layer by layer."""

    scopes: ClassVar = {"GET": "instances:read"}

    @extend_schema(operation_id="instances_pull", responses=schema_of(image_serializers.PullOut))
    def get(self, request: Request, instance_id: str) -> Response:
        instance = instance_of(asker(request), instance_id_of(instance_id))
        return Response(image_serializers.pull_resource(pull_of(instance.pk)))
