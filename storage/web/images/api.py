"""API of images and of logins for private registries."""

from typing import ClassVar, cast

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import CONNECT
from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import PublicToRead, current_user, require_scope, user_with_own_data
from common.http.resource_schemas import list_of, schema_of
from common.http.views import validated
from common.ids import parse_public_id
from storage.images.credentials import check_registry_login, remove_registry, save_registry
from storage.images.resolve import add_image, examine_image, remove_image
from storage.images.selectors import PREFIX, REGISTRY_PREFIX, images_from, own_image, registries_of, visible_image
from storage.images.sharing import share_image, unshare_image
from storage.models import Image, Registry
from storage.web.images import serializers

SCOPES: dict[str, str] = {"GET": "instances:read", "POST": "instances:write", "DELETE": "instances:write"}


class ImagesView(GenericAPIView[Image]):
    """List images that an instance can run."""

    permission_classes = (PublicToRead,)
    scopes: ClassVar = SCOPES
    serializer_class = schema_of(serializers.ImageOut)
    ordering: ClassVar = ("slug",)

    def get_queryset(self) -> QuerySet[Image]:
        wanted = validated(serializers.ImagesQuery, self.request.query_params).get("source", "")
        return images_from(wanted, user_with_own_data(self.request, self))

    @extend_schema(operation_id="images_list", parameters=[serializers.ImagesQuery], responses=list_of(serializers.ImageOut))
    def get(self, request: Request) -> Response:
        page = cast("list[Image]", self.paginate_queryset(self.get_queryset()))
        user = user_with_own_data(request, self)
        return self.get_paginated_response([serializers.image_resource(row, user) for row in page])

    @extend_schema(
        operation_id="images_create", request=serializers.ImageIn, responses={201: schema_of(serializers.ImageOut)}
    )
    def post(self, request: Request) -> Response:
        """Add an image by name.

        It is read from its registry and pinned by its digest.
        """
        wanted, owner = validated(serializers.ImageIn, request.data), current_user(request)
        found = examine_image(owner=owner, name=wanted.pop("name"))
        return idempotent_response(
            request, lambda: (201, serializers.image_resource(add_image(owner=owner, examined=found, **wanted), owner))
        )


class ImageView(APIView):
    """Return one image that you can run or own."""

    scopes: ClassVar = SCOPES

    @extend_schema(operation_id="images_retrieve", responses=schema_of(serializers.ImageOut))
    def get(self, request: Request, image_id: str) -> Response:
        user = current_user(request)
        return Response(serializers.image_resource(visible_image(user, parse_public_id(PREFIX, image_id)), user))

    @extend_schema(operation_id="images_remove", responses={202: schema_of(serializers.ImageOut)})
    def delete(self, request: Request, image_id: str) -> Response:
        """Delete one of your images.

        Instances that run it are not affected; if it is stored on a host, it is deleted there.
        """
        owner = current_user(request)
        removed = remove_image(owner=owner, image_id=parse_public_id(PREFIX, image_id))
        return Response(serializers.image_resource(removed, owner), status=202)


class ImageShareView(APIView):
    """Sharing of your images in the community list."""

    scopes: ClassVar = SCOPES

    @extend_schema(
        operation_id="images_share", request=serializers.ShareIn, responses={201: schema_of(serializers.ImageOut)}
    )
    def post(self, request: Request, image_id: str) -> Response:
        """Share an image with everyone.

        Also requires the scope `instances:connect`, since a saved image exposes the files of its instance.
        """
        require_scope(request, CONNECT)
        owner, row_id = current_user(request), parse_public_id(PREFIX, image_id)
        own_image(owner, row_id)
        wanted = validated(serializers.ShareIn, request.data)
        return idempotent_response(
            request, lambda: (201, serializers.image_resource(share_image(owner=owner, image_id=row_id, **wanted), owner))
        )

    @extend_schema(operation_id="images_unshare", responses={200: schema_of(serializers.ImageOut)})
    def delete(self, request: Request, image_id: str) -> Response:
        """Stop sharing an image, so that no one else can rent with it.

        Idempotent.
        """
        owner = current_user(request)
        kept = unshare_image(owner=owner, image_id=parse_public_id(PREFIX, image_id))
        return Response(serializers.image_resource(kept, owner))


class RegistriesView(GenericAPIView[Registry]):
    """List saved logins for private registries."""

    scopes: ClassVar = SCOPES
    serializer_class = schema_of(serializers.RegistryOut)
    ordering: ClassVar = ("host",)

    @extend_schema(operation_id="registries_list", responses=list_of(serializers.RegistryOut))
    def get(self, request: Request) -> Response:
        page = cast("list[Registry]", self.paginate_queryset(registries_of(current_user(request))))
        return self.get_paginated_response([serializers.registry_resource(row) for row in page])

    @extend_schema(
        operation_id="registries_create", request=serializers.RegistryIn, responses={201: schema_of(serializers.RegistryOut)}
    )
    def post(self, request: Request) -> Response:
        """Test a registry login and save it.

        Replaces an existing login for the same registry.
        """
        wanted, owner = validated(serializers.RegistryIn, request.data), current_user(request)
        wanted["host"] = check_registry_login(**wanted)
        return idempotent_response(
            request, lambda: (201, serializers.registry_resource(save_registry(owner=owner, **wanted)))
        )


class RegistryView(APIView):
    """One saved login."""

    scopes: ClassVar = SCOPES

    @extend_schema(operation_id="registries_remove", responses={204: None})
    def delete(self, request: Request, registry_id: str) -> Response:
        """Delete a saved login.

        Its images can't be used for new rentals until you save a login again.
        """
        remove_registry(owner=current_user(request), registry_id=parse_public_id(REGISTRY_PREFIX, registry_id))
        return Response(status=204)
