"""API of alerts, and of the events of all instances of a renter."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, cast

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import INSTANCE_SCOPES
from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from common.http.message_schema import MessageOut
from common.http.resource_schemas import list_of, schema_of
from common.http.views import validated
from common.ids import parse_public_id, public_id
from common.resources import OneOf, resource
from instances.core.alert_messages import english_sentences_of, english_title_of
from instances.core.event_selectors import events_in
from instances.core.selectors import instance_of
from instances.models import Alert, InstanceEvent
from instances.monitoring.alert_selectors import alerts_of, muted_kinds
from instances.monitoring.alerts import resolve_alert, set_muted
from instances.web.monitoring.timeline import GROUPS, group_of, in_group, instance_id_in
from instances.web.resources import event_resource
from instances.web.responses import instance_id_of


@resource
class AlertOut:
    """A problem of an instance; `resolution` is over, renter or ended."""

    id: str
    instance: str
    name: str
    kind: Annotated[str, OneOf(Alert.Kind.values)]
    title: str
    detail: str
    fault_of: Annotated[str | None, "Who caused a GPU fault: renter, host, or platform (unknown)"]
    facts: Any
    raised_at: datetime
    seen_at: Annotated[datetime, "When it was last observed"]
    resolved_at: datetime | None
    resolution: str | None


class ResolveIn(serializers.Serializer[Any]):
    """Whether to mute this kind of alert for this instance."""

    mute = serializers.BooleanField(default=False)


class AlertRules(serializers.Serializer[Any]):
    """Return the kinds of alerts that are muted for an instance."""

    muted = serializers.ListField(child=serializers.ChoiceField(choices=Alert.Kind.values), max_length=20)


@resource
class AnyEventOut:
    """One event of one of your instances."""

    instance: str
    name: str
    group: Annotated[str, OneOf(list(GROUPS))]
    kind: str
    from_state: str | None
    to_state: str | None
    detail: str
    message: Annotated[dict[str, Any] | None, MessageOut]
    actor: str
    at: datetime


class EventsIn(serializers.Serializer[Any]):
    """Which events to return."""

    instance = serializers.CharField(required=False, default="", help_text="inst_…")
    group = serializers.ChoiceField(choices=list(GROUPS), required=False)
    since = serializers.DateTimeField(required=False, default=None)
    until = serializers.DateTimeField(required=False, default=None)


class AlertsIn(serializers.Serializer[Any]):
    """Which alerts to return."""

    instance = serializers.CharField(required=False, default="", help_text="inst_…")
    open = serializers.BooleanField(default=False, help_text="Only open alerts")


class EventsOfAllView(GenericAPIView[InstanceEvent]):
    """List what happened to your instances, newest first."""

    scopes: ClassVar = INSTANCE_SCOPES
    serializer_class = schema_of(AnyEventOut)
    ordering: ClassVar = ("-id",)

    @extend_schema(operation_id="events_list", parameters=[EventsIn], responses=list_of(AnyEventOut))
    def get(self, request: Request) -> Response:
        wanted = validated(EventsIn, request.query_params)
        instance_id, group = instance_id_in(wanted.pop("instance")), wanted.pop("group", None)
        events = events_in(current_user(request), instance_id=instance_id, **wanted)
        found = self.paginate_queryset(in_group(events, group) if group else events)
        return self.get_paginated_response([_event(event) for event in cast("list[InstanceEvent]", found)])


class AlertsView(GenericAPIView[Alert]):
    """List the alerts of your instances, newest first; closed ones are kept for 180 days."""

    scopes: ClassVar = INSTANCE_SCOPES
    serializer_class = schema_of(AlertOut)
    ordering: ClassVar = ("-raised_at", "-id")

    @extend_schema(operation_id="alerts_list", parameters=[AlertsIn], responses=list_of(AlertOut))
    def get(self, request: Request) -> Response:
        wanted = validated(AlertsIn, request.query_params)
        found = alerts_of(current_user(request), instance_id=instance_id_in(wanted["instance"]), open_only=wanted["open"])
        page = cast("list[Alert]", self.paginate_queryset(found))
        return self.get_paginated_response([alert_resource(alert) for alert in page])


class AlertResolveView(APIView):
    """Close an alert.

    It is raised again after a day if the problem is still there, or never when muted.
    """

    scopes: ClassVar = INSTANCE_SCOPES

    @extend_schema(operation_id="alerts_resolve", request=ResolveIn, responses={200: schema_of(AlertOut)})
    def post(self, request: Request, alert_id: str) -> Response:
        mute, row_id, renter = (
            validated(ResolveIn, request.data)["mute"],
            parse_public_id("alrt", alert_id),
            current_user(request),
        )
        return idempotent_response(
            request, lambda: (200, alert_resource(resolve_alert(renter=renter, alert_id=row_id, mute=mute)))
        )


class AlertRulesView(APIView):
    """Return the kinds of alerts that are muted for an instance."""

    scopes: ClassVar = {**INSTANCE_SCOPES, "PUT": "instances:write"}

    @extend_schema(operation_id="instances_alert_rules", responses=AlertRules)
    def get(self, request: Request, instance_id: str) -> Response:
        return Response({"muted": muted_kinds(instance_of(current_user(request), instance_id_of(instance_id)))})

    @extend_schema(operation_id="instances_alert_rules_set", request=AlertRules, responses=AlertRules)
    def put(self, request: Request, instance_id: str) -> Response:
        """Set the kinds of alerts that are muted for an instance; open ones of them are closed."""
        kinds = validated(AlertRules, request.data)["muted"]
        muted = set_muted(renter=current_user(request), instance_id=instance_id_of(instance_id), kinds=kinds)
        return Response({"muted": muted})


def alert_resource(alert: Alert) -> AlertOut:
    return AlertOut(
        id=public_id("alrt", alert.pk),
        instance=public_id("inst", alert.instance_id),
        name=alert.instance.name,
        kind=alert.kind,
        title=english_title_of(alert),
        detail=english_sentences_of(alert),
        fault_of=alert.fault_of or None,
        facts=alert.facts,
        raised_at=alert.raised_at,
        seen_at=alert.seen_at,
        resolved_at=alert.resolved_at,
        resolution=alert.resolution or None,
    )


def _event(event: InstanceEvent) -> AnyEventOut:
    return AnyEventOut(
        instance=public_id("inst", event.instance_id),
        name=event.instance.name,
        group=group_of(event.kind),
        **vars(event_resource(event)),
    )
