"""API of notification channels: where notifications go, a test of it, and what was sent."""

from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import CHANNEL_KINDS, MAX_CHANNEL_SECRET_CHARS, MAX_WEBHOOK_URL_CHARS
from accounts.models import NotificationChannel, NotificationDelivery
from accounts.notification_channels import settings
from accounts.notification_channels.formats.parts import Credentials
from accounts.notification_channels.selectors import channel_of, channels_of, notification_of, notifications_of
from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from common.http.fields import NameText
from common.http.views import PublicId, validated
from common.ids import parse_public_id, public_id

_SCOPES = {"GET": "webhooks:read", "POST": "webhooks:write", "PATCH": "webhooks:write", "DELETE": "webhooks:write"}
_CREDENTIALS = ("url", "token", "chat_id", "secret")


def _kinds(**options: Any) -> serializers.ListField:
    return serializers.ListField(
        child=serializers.ChoiceField(choices=list(CHANNEL_KINDS)), max_length=50, help_text="Empty: all", **options
    )


def _secret(most: int, text: str) -> serializers.CharField:
    return serializers.CharField(max_length=most, required=False, write_only=True, help_text=f"{text}. Never returned.")


class ChannelChangeIn(serializers.Serializer[NotificationChannel]):
    """Changes of a notification channel; given credentials replace the current ones."""

    name = NameText(max_length=80, required=False)
    kinds = _kinds(required=False)
    paused = serializers.BooleanField(required=False)
    url = _secret(MAX_WEBHOOK_URL_CHARS, "Webhook URL (WeCom: or its key)")
    token = _secret(MAX_CHANNEL_SECRET_CHARS, "Bot token, for Telegram")
    chat_id = _secret(MAX_CHANNEL_SECRET_CHARS, "Chat ID, for Telegram")
    secret = _secret(MAX_CHANNEL_SECRET_CHARS, "Signing secret, for Feishu, Lark, DingTalk or custom JSON")


class ChannelIn(serializers.Serializer[NotificationChannel]):
    """A notification channel to add, with the credentials of its service."""

    service = serializers.ChoiceField(choices=NotificationChannel.Service.values)
    name = NameText(max_length=80)
    kinds = _kinds(default=list)
    url = _secret(MAX_WEBHOOK_URL_CHARS, "Webhook URL (WeCom: or its key); for every service except Telegram")
    token = _secret(MAX_CHANNEL_SECRET_CHARS, "Bot token, for Telegram")
    chat_id = _secret(MAX_CHANNEL_SECRET_CHARS, "Chat ID, for Telegram")
    secret = _secret(MAX_CHANNEL_SECRET_CHARS, "Optional signing secret, for Feishu, Lark, DingTalk or custom JSON")


class ChannelOut(serializers.Serializer[NotificationChannel]):
    """A notification channel without its credentials."""

    id = PublicId("chan")
    service = serializers.ChoiceField(choices=NotificationChannel.Service.values, read_only=True)
    name = serializers.CharField(read_only=True)
    kinds = serializers.ListField(child=serializers.CharField(), read_only=True, help_text="Empty: all")
    ends_with = serializers.CharField(source="hint", read_only=True, help_text="Last characters of the address")
    paused = serializers.SerializerMethodField()
    stopped_for = serializers.CharField(
        read_only=True, help_text="Why Berth turned it off: the error of the last attempt; empty if you paused it"
    )
    failing_since = serializers.DateTimeField(read_only=True, allow_null=True)
    created_at = serializers.DateTimeField(read_only=True)

    def get_paused(self, channel: NotificationChannel) -> bool:
        return channel.paused_at is not None


class NotificationOut(serializers.Serializer[NotificationDelivery]):
    """Delivery of one notification to one channel."""

    id = PublicId("ntf")
    event_id = serializers.SerializerMethodField()
    kind = serializers.CharField(source="event.kind", read_only=True)
    attempts = serializers.IntegerField(read_only=True)
    next_attempt_at = serializers.DateTimeField(source="due_at", read_only=True, allow_null=True)
    delivered_at = serializers.DateTimeField(read_only=True, allow_null=True)
    gave_up_at = serializers.DateTimeField(read_only=True, allow_null=True)
    status = serializers.IntegerField(read_only=True, allow_null=True)
    fault = serializers.CharField(read_only=True, help_text="Why the last attempt failed; empty once delivered")
    answer = serializers.CharField(read_only=True, help_text="The service's response, without your credentials")
    tries = serializers.JSONField(read_only=True)
    created_at = serializers.DateTimeField(read_only=True)

    def get_event_id(self, delivery: NotificationDelivery) -> str:
        return public_id("evt", delivery.event_id)


class ChannelsView(ListAPIView[NotificationChannel]):
    """List your notification channels, or add one."""

    scopes: ClassVar = _SCOPES
    serializer_class = ChannelOut
    ordering = ("-created_at", "-id")

    def get_queryset(self) -> Any:
        return channels_of(current_user(self.request))

    @extend_schema(operation_id="notification_channels_create", request=ChannelIn, responses={201: ChannelOut})
    def post(self, request: Request) -> Response:
        wanted = _with_credentials(validated(ChannelIn, request.data))

        def work() -> tuple[int, Any]:
            return 201, ChannelOut(settings.add_channel(user=current_user(request), **wanted)).data

        return idempotent_response(request, work)


class ChannelView(APIView):
    """Return, change or remove one notification channel."""

    scopes: ClassVar = _SCOPES

    @extend_schema(operation_id="notification_channels_retrieve", responses=ChannelOut)
    def get(self, request: Request, channel_id: str) -> Response:
        return Response(ChannelOut(channel_of(current_user(request), _channel(channel_id))).data)

    @extend_schema(operation_id="notification_channels_update", request=ChannelChangeIn, responses=ChannelOut)
    def patch(self, request: Request, channel_id: str) -> Response:
        wanted = _with_credentials(validated(ChannelChangeIn, request.data))
        channel = settings.change_channel(user=current_user(request), channel_id=_channel(channel_id), **wanted)
        return Response(ChannelOut(channel).data)

    @extend_schema(operation_id="notification_channels_delete", responses={204: None})
    def delete(self, request: Request, channel_id: str) -> Response:
        settings.remove_channel(user=current_user(request), channel_id=_channel(channel_id))
        return Response(status=204)


class ChannelTestView(APIView):
    """Send a test notification; its delivery has the service's response."""

    scopes: ClassVar = _SCOPES

    @extend_schema(operation_id="notification_channels_test", request=None, responses={202: NotificationOut})
    def post(self, request: Request, channel_id: str) -> Response:
        def work() -> tuple[int, Any]:
            sent = settings.send_test(user=current_user(request), channel_id=_channel(channel_id))
            return 202, NotificationOut(sent).data

        return idempotent_response(request, work)


class NotificationsView(ListAPIView[NotificationDelivery]):
    """List sent and waiting notifications of a channel, newest first; they are kept for 30 days."""

    scopes: ClassVar = _SCOPES
    serializer_class = NotificationOut
    ordering = ("-created_at", "-id")

    def get_queryset(self) -> Any:
        return notifications_of(channel_of(current_user(self.request), _channel(self.kwargs["channel_id"])))


class NotificationView(APIView):
    """Return one delivery, such as that of a test."""

    scopes: ClassVar = _SCOPES

    @extend_schema(operation_id="notification_channels_delivery", responses=NotificationOut)
    def get(self, request: Request, channel_id: str, notification_id: str) -> Response:
        place = parse_public_id("ntf", notification_id)
        return Response(NotificationOut(notification_of(current_user(request), _channel(channel_id), place)).data)


class NotificationAgainView(APIView):
    """Send a notification once more."""

    scopes: ClassVar = _SCOPES

    @extend_schema(operation_id="notification_channels_send_again", request=None, responses={202: NotificationOut})
    def post(self, request: Request, channel_id: str, notification_id: str) -> Response:
        channel, place = _channel(channel_id), parse_public_id("ntf", notification_id)

        def work() -> tuple[int, Any]:
            again = settings.send_again(user=current_user(request), channel_id=channel, delivery_id=place)
            return 202, NotificationOut(again).data

        return idempotent_response(request, work)


def _with_credentials(wanted: dict[str, Any]) -> dict[str, Any]:
    credentials = {name: wanted.pop(name) for name in _CREDENTIALS if name in wanted}
    return {**wanted, "credentials": Credentials(**credentials)}


def _channel(text: str) -> UUID:
    return parse_public_id("chan", text)
