"""API of logins of programs: start one, and ask for its token."""

from typing import Annotated

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.constants import SCOPES
from accounts.device_logins.logins import INTERVAL_S, LIFETIME_S, redeem_login, start_login
from common.http.fields import NameText
from common.http.resource_schemas import schema_of
from common.http.views import PublicView, validated
from common.resources import resource

_NOT_STORED = {"Cache-Control": "no-store"}


class DeviceLoginIn(serializers.Serializer[object]):
    """A program that requests a token."""

    client = NameText(max_length=80, help_text="Program and machine, as shown to the user; also the token's name")
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=list(SCOPES)), allow_empty=False, max_length=50)


class DeviceTokenIn(serializers.Serializer[object]):
    """The device code, known only to the program."""

    device_code = serializers.CharField(max_length=100)


@resource
class DeviceLoginOut:
    """A device login that waits for the user."""

    device_code: Annotated[str, "For the program only"]
    user_code: Annotated[str, "For the user"]
    verification_uri: Annotated[str, "Where the user enters the code"]
    verification_uri_complete: Annotated[str, "The same URL with the code"]
    expires_in: Annotated[int, "Seconds"]
    interval: Annotated[int, "Minimum seconds between two polls for the token"]


@resource
class DeviceTokenOut:
    """The token, shown only once."""

    access_token: str
    token_type: str
    scope: Annotated[str, "Separated by spaces"]


class DeviceLoginsView(PublicView):
    """Start a device login, for a program on a machine without a browser (RFC 8628)."""

    @extend_schema(operation_id="device_logins_create", request=DeviceLoginIn, responses={200: schema_of(DeviceLoginOut)})
    def post(self, request: Request) -> Response:
        wanted = validated(DeviceLoginIn, request.data)
        started = start_login(client=wanted["client"], scopes=wanted["scopes"])
        page = f"{settings.SITE_URL}/device"
        login = DeviceLoginOut(
            device_code=started.device_code,
            user_code=started.user_code,
            verification_uri=page,
            verification_uri_complete=f"{page}?code={started.user_code}",
            expires_in=LIFETIME_S,
            interval=INTERVAL_S,
        )
        return Response(login, headers=_NOT_STORED)


class DeviceTokensView(PublicView):
    """Poll for the token of a device login.

    Until the user allows it, the response is 400 with the code `authorization_pending`; `slow_down`,
    `access_denied` and `expired_token` are as in RFC 8628.
    """

    @extend_schema(operation_id="device_logins_token", request=DeviceTokenIn, responses={200: schema_of(DeviceTokenOut)})
    def post(self, request: Request) -> Response:
        token, text = redeem_login(device_code=validated(DeviceTokenIn, request.data)["device_code"])
        found = DeviceTokenOut(access_token=text, token_type="Bearer", scope=" ".join(token.scopes))  # noqa: S106 no secret
        return Response(found, headers=_NOT_STORED)
