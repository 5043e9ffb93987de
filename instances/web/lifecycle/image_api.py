"""API of saving an instance as an image, and of the progress of image pulls."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.idempotency import reply_once
from accounts.web.permissions import asker
from common.http.views import checked
from instances.core.selectors import instance_of
from instances.lifecycle.save_image import save_image_of
from instances.web.responses import instance_id_of
from storage.images.selectors import pull_of
from storage.web.images import serializers as shapes


class SaveImageView(APIView):
    """Save the root file system of a running or stopped instance as one of your images."""

    scopes: ClassVar = {"POST": "instances:write"}

    @extend_schema(operation_id="instances_save_image", request=shapes.SaveImageIn, responses={202: shapes.ImageOut})
    def post(self, request: Request, instance_id: str) -> Response:
        renter, row_id = asker(request), instance_id_of(instance_id)
        instance_of(renter, row_id)
        wanted = checked(shapes.SaveImageIn, request.data)
        return reply_once(
            request,
            lambda: (202, shapes.image_shape(save_image_of(renter=renter, instance_id=row_id, **wanted), renter)),
        )


class PullView(APIView):
    """Return how far the host has pulled the instance's image, layer by layer."""

    scopes: ClassVar = {"GET": "instances:read"}

    @extend_schema(operation_id="instances_pull", responses=shapes.PullOut)
    def get(self, request: Request, instance_id: str) -> Response:
        instance = instance_of(asker(request), instance_id_of(instance_id))
        return Response(shapes.pull_shape(pull_of(instance.pk)))
