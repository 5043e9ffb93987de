"""API of streams, with which clients enter an instance through the relay."""

from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import CONNECT
from accounts.models import User
from accounts.web.permissions import current_user
from common.http.bodies import JsonWithPath
from common.http.resource_schemas import schema_of
from common.http.views import validated
from common.resources import resource
from instances.core.stream_tickets import EXEC, FILES, PORT, StreamAddress, open_download, open_stream, open_upload
from instances.web.responses import instance_id_of

Whole = serializers.IntegerField
_KINDS = {"terminal": EXEC, "port": PORT, "files": FILES}
_ONE_PATH = {"download": open_download, "upload": open_upload}
_PATH_BYTES_AT_MOST = 2048


@extend_schema_field({"type": "string"})
class PathField(serializers.Field[Any, Any, Any, Any]):
    """An absolute path inside an instance.

    Bytes that are not UTF-8 are written as by Python's `surrogateescape`.
    """

    def to_internal_value(self, value: object) -> str:
        if not isinstance(value, str) or not value.startswith("/") or "\0" in value:
            raise serializers.ValidationError("A path begins with / and holds no NUL.")
        try:
            spelled = value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise serializers.ValidationError("This path can't be encoded.") from error
        if len(spelled) > _PATH_BYTES_AT_MOST:
            raise serializers.ValidationError(f"At most {_PATH_BYTES_AT_MOST} bytes; read it over a stream of files.")
        return value

    def to_representation(self, value: object) -> str:
        return str(value)


class StreamIn(serializers.Serializer[Any]):
    """What to open."""

    kind = serializers.ChoiceField(choices=[*_KINDS, *_ONE_PATH])
    port = Whole(min_value=1, max_value=65_535, required=False, allow_null=True, help_text="For a port: the container port")
    session = serializers.RegexField(
        r"^[0-9A-Za-z_-]{8,64}$",
        required=False,
        allow_null=True,
        help_text="For a terminal: a name of your choice; using it again reattaches to the same shell, for ten minutes",
    )

    path = PathField(
        required=False, allow_null=True, help_text="For a download or upload: an absolute path in the container"
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["kind"] == "port" and not attrs.get("port"):
            raise serializers.ValidationError({"port": "Which port of the instance?"})
        if attrs["kind"] in _ONE_PATH and not attrs.get("path"):
            raise serializers.ValidationError({"path": "Which file or folder of the instance?"})
        return attrs


@resource
class StreamOut:
    """A WebSocket to open once before `expires_at`, or the URL of a download (GET) or an upload (PUT).

    Binary frames of the WebSocket are data, text frames are JSON messages (docs/streams.md; for files,
    docs/files.md). Until then, a download can be repeated and resumed (`Range`), and an upload can be retried
    (docs/exec-and-copy.md).
    """

    url: str
    expires_at: datetime


class StreamsView(APIView):
    """Streams into an instance: a terminal, a port, its files."""

    scopes: ClassVar = {"POST": CONNECT}
    parser_classes = (JsonWithPath,)

    @extend_schema(operation_id="instances_open_stream", request=StreamIn, responses={201: schema_of(StreamOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        """Issue a ticket for a terminal, a port, the files, a download or an upload.

        The host doesn't have to be reachable from outside. Free of charge; each request issues a new ticket.
        """
        wanted = validated(StreamIn, request.data)
        address = _create_ticket(current_user(request), instance_id_of(instance_id), wanted)
        return Response(_stream(request._request, address, wanted["kind"]), status=201)


def _create_ticket(renter: User, instance_id: UUID, wanted: dict[str, Any]) -> StreamAddress:
    if wanted["kind"] in _ONE_PATH:
        return _ONE_PATH[wanted["kind"]](renter=renter, instance_id=instance_id, path=wanted["path"])
    return open_stream(
        renter=renter,
        instance_id=instance_id,
        kind=_KINDS[wanted["kind"]],
        port=wanted.get("port") or 0,
        session=wanted.get("session") or "",
    )


def _stream(request: HttpRequest, address: StreamAddress, kind: str) -> StreamOut:
    base = _relay_address(request)
    base = f"http{base.removeprefix('ws')}" if kind in _ONE_PATH else base
    return StreamOut(url=f"{base}{address.path}?ticket={address.ticket}", expires_at=address.expires_at)


def _relay_address(request: HttpRequest) -> str:
    """Return the relay's WebSocket address as clients reach it, without a trailing slash."""
    base = settings.RELAY_URL or request.build_absolute_uri("/").rstrip("/")
    return f"ws{base.removeprefix('http')}"
