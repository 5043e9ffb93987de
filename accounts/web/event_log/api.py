"""API of an account's log."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.constants import EVENT_KINDS
from accounts.models import AccountEvent
from accounts.selectors import events_of
from accounts.web.permissions import current_user
from common.http.views import PublicId, validated


class AccountEventOut(serializers.Serializer[AccountEvent]):
    """One entry of the account log."""

    id = PublicId("aevt")
    kind = serializers.ChoiceField(choices=EVENT_KINDS, read_only=True)
    subject = serializers.CharField(
        read_only=True, help_text="The affected object, by the name its owner knows; can be empty"
    )
    via = serializers.CharField(
        read_only=True, help_text="console, or a token and its prefix; empty: not caused by a request"
    )
    address = serializers.CharField(read_only=True, allow_null=True)
    agent = serializers.CharField(read_only=True, help_text="Its user agent")
    at = serializers.DateTimeField(read_only=True)


class EventFilters(serializers.Serializer[AccountEvent]):
    """Filters for events."""

    kind = serializers.ChoiceField(choices=EVENT_KINDS, required=False)
    since = serializers.DateTimeField(required=False)
    until = serializers.DateTimeField(required=False)


class EventsView(ListAPIView[AccountEvent]):
    """List what was done to or with your account, newest first.

    Entries are never changed or removed.
    """

    scopes: ClassVar = {"GET": "account:read"}
    serializer_class = AccountEventOut
    ordering = ("-at", "-id")

    def get_queryset(self) -> Any:
        wanted = validated(EventFilters, self.request.query_params)
        names = {"kind": "kind", "since": "at__gte", "until": "at__lt"}
        return events_of(current_user(self.request)).filter(**{names[name]: value for name, value in wanted.items()})

    @extend_schema(operation_id="account_events_list", parameters=[EventFilters])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)
