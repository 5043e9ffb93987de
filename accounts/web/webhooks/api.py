"""API of webhooks: addresses that receive events, their secrets and deliveries."""

from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import MAX_WEBHOOK_URL_CHARS, WEBHOOK_KINDS
from accounts.models import Webhook, WebhookDelivery
from accounts.selectors import deliveries_of, webhook_of, webhooks_of
from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from accounts.webhooks import settings
from common.http.fields import NameText
from common.http.views import PublicId, validated
from common.ids import parse_public_id, public_id

_SCOPES = {"GET": "webhooks:read", "POST": "webhooks:write", "PATCH": "webhooks:write", "DELETE": "webhooks:write"}


class WebhookChangeIn(serializers.Serializer[Webhook]):
    """Changes of a webhook."""

    url = serializers.CharField(max_length=MAX_WEBHOOK_URL_CHARS, required=False)
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=list(WEBHOOK_KINDS)), required=False, max_length=50, help_text="Empty: all"
    )
    description = NameText(max_length=120, allow_blank=True, required=False)
    paused = serializers.BooleanField(required=False)


class WebhookIn(serializers.Serializer[Webhook]):
    """A webhook to add."""

    url = serializers.CharField(max_length=MAX_WEBHOOK_URL_CHARS, help_text="https URL on a public address")
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=list(WEBHOOK_KINDS)), default=list, max_length=50, help_text="Empty: all"
    )
    description = NameText(max_length=120, allow_blank=True, default="")


class WebhookOut(serializers.Serializer[Webhook]):
    """A webhook without its secret."""

    id = PublicId("hook")
    url = serializers.CharField(read_only=True)
    kinds = serializers.ListField(child=serializers.CharField(), read_only=True, help_text="Empty: all")
    description = serializers.CharField(read_only=True)
    paused = serializers.SerializerMethodField()
    failing_since = serializers.DateTimeField(read_only=True, allow_null=True)
    former_secret_until = serializers.DateTimeField(
        source="former_until",
        read_only=True,
        allow_null=True,
        help_text="Until then, messages are also signed with the previous secret",
    )
    created_at = serializers.DateTimeField(read_only=True)

    def get_paused(self, hook: Webhook) -> bool:
        return hook.paused_at is not None


class WebhookWithSecret(WebhookOut):
    """A webhook with its new secret, shown only once."""

    secret = serializers.CharField(read_only=True, allow_null=True, help_text="null in a repeated response")


class DeliveryOut(serializers.Serializer[WebhookDelivery]):
    """Delivery of one event to one webhook."""

    id = PublicId("dlv")
    event_id = serializers.SerializerMethodField()
    kind = serializers.CharField(source="event.kind", read_only=True)
    data = serializers.JSONField(source="event.payload", read_only=True)  # type: ignore[assignment]  # a field, no property
    attempts = serializers.IntegerField(read_only=True)
    next_attempt_at = serializers.DateTimeField(source="due_at", read_only=True, allow_null=True)
    delivered_at = serializers.DateTimeField(read_only=True, allow_null=True)
    gave_up_at = serializers.DateTimeField(read_only=True, allow_null=True)
    status = serializers.IntegerField(read_only=True, allow_null=True)
    fault = serializers.CharField(read_only=True, help_text="Why the last attempt failed; empty once delivered")
    answer = serializers.CharField(read_only=True)
    tries = serializers.JSONField(read_only=True)
    created_at = serializers.DateTimeField(read_only=True)

    def get_event_id(self, delivery: WebhookDelivery) -> str:
        return public_id("evt", delivery.event_id)


class WebhooksView(ListAPIView[Webhook]):
    """List your webhooks, or add one."""

    scopes: ClassVar = _SCOPES
    serializer_class = WebhookOut
    ordering = ("-created_at", "-id")

    def get_queryset(self) -> Any:
        return webhooks_of(current_user(self.request))

    @extend_schema(operation_id="webhooks_create", request=WebhookIn, responses={201: WebhookWithSecret})
    def post(self, request: Request) -> Response:
        wanted = validated(WebhookIn, request.data)

        def work() -> tuple[int, Any]:
            hook, secret = settings.add_webhook(user=current_user(request), **wanted)
            return 201, {**WebhookOut(hook).data, "secret": secret}

        return idempotent_response(request, work, once=("secret",))


class WebhookView(APIView):
    """Return, change or remove one webhook."""

    scopes: ClassVar = _SCOPES

    @extend_schema(operation_id="webhooks_retrieve", responses=WebhookOut)
    def get(self, request: Request, webhook_id: str) -> Response:
        return Response(WebhookOut(webhook_of(current_user(request), _hook(webhook_id))).data)

    @extend_schema(operation_id="webhooks_update", request=WebhookChangeIn, responses=WebhookOut)
    def patch(self, request: Request, webhook_id: str) -> Response:
        wanted = validated(WebhookChangeIn, request.data)
        hook = settings.change_webhook(user=current_user(request), webhook_id=_hook(webhook_id), **wanted)
        return Response(WebhookOut(hook).data)

    @extend_schema(operation_id="webhooks_delete", responses={204: None})
    def delete(self, request: Request, webhook_id: str) -> Response:
        settings.remove_webhook(user=current_user(request), webhook_id=_hook(webhook_id))
        return Response(status=204)


class WebhookRotateView(APIView):
    """Rotate the secret of a webhook; for a day, messages are also signed with the previous one."""

    scopes: ClassVar = _SCOPES

    @extend_schema(operation_id="webhooks_rotate", request=None, responses={201: WebhookWithSecret})
    def post(self, request: Request, webhook_id: str) -> Response:
        def work() -> tuple[int, Any]:
            hook, secret = settings.rotate_secret(user=current_user(request), webhook_id=_hook(webhook_id))
            return 201, {**WebhookOut(hook).data, "secret": secret}

        return idempotent_response(request, work, once=("secret",))


class WebhookTestView(APIView):
    """Send a test message of kind webhook.test."""

    scopes: ClassVar = _SCOPES

    @extend_schema(operation_id="webhooks_test", request=None, responses={202: DeliveryOut})
    def post(self, request: Request, webhook_id: str) -> Response:
        def work() -> tuple[int, Any]:
            return 202, DeliveryOut(settings.send_test(user=current_user(request), webhook_id=_hook(webhook_id))).data

        return idempotent_response(request, work)


class DeliveriesView(ListAPIView[WebhookDelivery]):
    """List sent and waiting deliveries of a webhook, newest first; they are kept for 30 days."""

    scopes: ClassVar = _SCOPES
    serializer_class = DeliveryOut
    ordering = ("-created_at", "-id")

    def get_queryset(self) -> Any:
        return deliveries_of(webhook_of(current_user(self.request), _hook(self.kwargs["webhook_id"])))


class DeliveryAgainView(APIView):
    """Send a delivery once more, with the same id and body."""

    scopes: ClassVar = _SCOPES

    @extend_schema(operation_id="webhooks_send_again", request=None, responses={202: DeliveryOut})
    def post(self, request: Request, webhook_id: str, delivery_id: str) -> Response:
        hook, place = _hook(webhook_id), parse_public_id("dlv", delivery_id)

        def work() -> tuple[int, Any]:
            again = settings.send_again(user=current_user(request), webhook_id=hook, delivery_id=place)
            return 202, DeliveryOut(again).data

        return idempotent_response(request, work)


def _hook(text: str) -> UUID:
    return parse_public_id("hook", text)
