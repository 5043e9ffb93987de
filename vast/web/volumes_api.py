"""Views of volumes."""

from typing import ClassVar

from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.constants import STORAGE_SCOPES
from accounts.web.permissions import current_user
from vast.errors import InvalidArgs, NotSupported
from vast.models import Kind
from vast.numbers.numbers import number_of
from vast.storage import volumes
from vast.web.base import VastView, body_of, success

_DIGITS = 15


class VolumePlacesView(VastView):
    """Hosts that take volumes, open to everyone."""

    permission_classes = (AllowAny,)

    def post(self, request: Request) -> Response:
        return success(offers=volumes.volume_places(body_of(request)))


class VolumesView(VastView):
    """Volumes of the renter."""

    scopes: ClassVar = {**STORAGE_SCOPES, "POST": "hosts:write", "PUT": "storage:write"}

    def get(self, request: Request) -> Response:
        return success(volumes=volumes.volume_rows(current_user(request)))

    def put(self, request: Request) -> Response:
        made = volumes.make_volume(owner=current_user(request), body=body_of(request))
        return success(volume_name=made.name, new_contract=number_of(Kind.VOLUME, made.pk))

    def post(self, request: Request) -> Response:
        """Answer `list volume` of host owners, which nothing has to be done for."""
        raise NotSupported("A listed host takes volumes as far as its disk goes, at `vastai list machine ID --price_disk`.")

    def delete(self, request: Request) -> Response:
        text = request.query_params.get("id", "")
        if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
            raise InvalidArgs("id: Send the number of the volume.")
        volumes.remove_volume(owner=current_user(request), number=int(text))
        return success()
