"""Views of copies: with object storage, of volumes, and their end."""

from typing import ClassVar

from rest_framework.request import Request
from rest_framework.response import Response

from accounts.constants import STORAGE_SCOPES
from accounts.web.permissions import current_user
from vast.models import Kind
from vast.numbers.numbers import number_of
from vast.storage import copies
from vast.web.base import VastView, body_of, success


class ConnectionsView(VastView):
    """Connections to object storage."""

    scopes: ClassVar = STORAGE_SCOPES

    def get(self, request: Request) -> Response:
        return Response(copies.connection_rows(current_user(request)))


class CopyView(VastView):
    """Copy a folder between two locations, or cancel a copy."""

    scopes: ClassVar = {**STORAGE_SCOPES, "PUT": "storage:write"}

    def put(self, request: Request) -> Response:
        copies.copy(owner=current_user(request), body=body_of(request))
        return success()

    def delete(self, request: Request) -> Response:
        copies.cancel_copies(owner=current_user(request), name=body_of(request).get("dst_id"))
        return success()


class CloudCopyView(VastView):
    """Copy a folder of an instance to or from object storage, or cancel that."""

    scopes: ClassVar = STORAGE_SCOPES

    def post(self, request: Request) -> Response:
        copies.cloud_copy(owner=current_user(request), body=body_of(request))
        return success()

    def delete(self, request: Request) -> Response:
        copies.cancel_copies(owner=current_user(request), name=body_of(request).get("dst_id"))
        return success()


class VolumeCloneView(VastView):
    """Copy a volume into a new one on another host."""

    scopes: ClassVar = STORAGE_SCOPES

    def post(self, request: Request) -> Response:
        made = copies.clone_volume(owner=current_user(request), body=body_of(request))
        return success(volume_name=made.name, new_contract=number_of(Kind.VOLUME, made.pk))
