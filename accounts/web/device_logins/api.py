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
    """A program that wants a token."""

    client = NameText(max_length=80, help_text="Program and machine, as the person will see them, and the token's name")
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=list(SCOPES)), allow_empty=False, max_length=50)


class DeviceTokenIn(serializers.Serializer[object]):
    """The code that only the program knows."""

    device_code = serializers.CharField(max_length=100)


@resource
class DeviceLoginOut:
    """A login that waits for a person."""

    device_code: Annotated[str, "For the program alone"]
    user_code: Annotated[str, "For the person"]
    verification_uri: Annotated[str, "Where the person types the code"]
    verification_uri_complete: Annotated[str, "The same with the code"]
    expires_in: Annotated[int, "Seconds"]
    interval: Annotated[int, "Seconds between two questions for the token"]


@resource
class DeviceTokenOut:
    """The token, which is shown this once."""

    access_token: str
    token_type: str
    scope: Annotated[str, "Separated by spaces"]


class DeviceLoginsView(PublicView):
    """Start a login of a program on a machine without a browser (RFC 8628)."""

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
    """Ask for the token of a login.

    Until a person has allowed it, the answer is 400 with the code `authorization_pending`; `slow_down`, `access_denied`
    and `expired_token` are as in RFC 8628.
    """

    @extend_schema(operation_id="device_logins_token", request=DeviceTokenIn, responses={200: schema_of(DeviceTokenOut)})
    def post(self, request: Request) -> Response:
        token, text = redeem_login(device_code=validated(DeviceTokenIn, request.data)["device_code"])
        found = DeviceTokenOut(access_token=text, token_type="Bearer", scope=" ".join(token.scopes))  # noqa: S106 no secret
        return Response(found, headers=_NOT_STORED)
