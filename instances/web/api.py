"""API of quotes, instances and the wait list."""

from datetime import timedelta
from functools import partial
from typing import Any, ClassVar, cast
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.constants import INSTANCE_SCOPES
from accounts.models import User
from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from common import clock
from common.http.resource_schemas import list_of, schema_of
from common.http.views import validated
from common.ids import parse_public_id
from common.money import parse_money
from instances.billing_mode.change_quotes import quote_change
from instances.core.selectors import events_of, instance_of, instances_in, quote_of
from instances.errors import QuoteExpired, QuoteMismatch
from instances.lifecycle.start import restart_instance, start_instance
from instances.lifecycle.start_cpu_only import start_without_gpu
from instances.metering.costs import charges_of, cost_of, costs_of_instances
from instances.models import Instance, InstanceEvent, Watch
from instances.orders.quote_claims import quote_for_order
from instances.orders.quotes import create_quote, renew_quote
from instances.orders.rent import rent_instance
from instances.release.services import release_instance
from instances.schedules.settings import change_settings
from instances.states import InstanceState, WatchState
from instances.wait_list.entries import EntryOrder
from instances.wait_list.selectors import entries_in, entry_of, held_for_watches
from instances.wait_list.wait_list import cancel_entry, create_entry
from instances.web.launch.serializers import RestartIn, given_settings
from instances.web.metering.serializers import UsageOut, usage_resource
from instances.web.orders.request_parsing import (
    parse_change_request,
    parse_choices,
    parse_expected,
    parse_quote_request,
    read_volume_ids,
)
from instances.web.resources import (
    QUOTE_PREFIX,
    EventOut,
    InstanceOut,
    QuoteOut,
    event_resource,
    instance_resource,
    quote_resource,
)
from instances.web.responses import (
    idempotent_instance_response,
    instance_id_of,
    instance_response,
    may_connect,
    require_connect_scope_to_mount,
    require_connect_scope_to_run,
)
from instances.web.schedules.serializers import parse_settings
from instances.web.serializers import InstanceIn, InstancePatch, QuoteIn, StartIn
from instances.web.wait_list.serializers import WATCH_PREFIX, WatchIn, WatchOut, watch_resource
from marketplace.errors import PriceChanged
from storage.images.resolve import current_image


class QuotesView(APIView):
    """Quote an all-in price for an order, or for a change of the billing mode of an instance."""

    scopes: ClassVar = INSTANCE_SCOPES

    @extend_schema(operation_id="quotes_create", request=QuoteIn, responses={201: schema_of(QuoteOut)})
    def post(self, request: Request) -> Response:
        wanted, renter = validated(QuoteIn, request.data), current_user(request)
        if wanted.get("instance"):
            change = parse_change_request(wanted)
            return idempotent_response(request, lambda: (201, quote_resource(quote_change(renter=renter, **change))))
        options = parse_quote_request(wanted, renter, cast("dict[str, Any]", request.data))
        options["image"] = current_image(user=renter, text=options["image"]).slug
        return idempotent_response(request, lambda: (201, quote_resource(create_quote(renter=renter, **options))))


class QuoteView(APIView):
    """Return one of your quotes."""

    scopes: ClassVar = INSTANCE_SCOPES

    @extend_schema(operation_id="quotes_retrieve", responses=schema_of(QuoteOut))
    def get(self, request: Request, quote_id: str) -> Response:
        return Response(quote_resource(quote_of(current_user(request), parse_public_id(QUOTE_PREFIX, quote_id))))


class InstancesView(GenericAPIView[Instance]):
    """List your instances."""

    scopes: ClassVar = INSTANCE_SCOPES
    serializer_class = schema_of(InstanceOut)
    states: ClassVar = OpenApiParameter(
        "state", str, many=True, enum=InstanceState.values, description="Filter by state; default: all except released ones"
    )

    def get_queryset(self) -> QuerySet[Instance]:
        return instances_in(current_user(self.request), self.request.query_params.getlist("state"))

    @extend_schema(operation_id="instances_list", responses=list_of(InstanceOut), parameters=[states])
    def get(self, request: Request) -> Response:
        page = cast("list[Instance]", self.paginate_queryset(self.get_queryset()))
        now = clock.now()
        bills, opens = costs_of_instances(page, now), may_connect(request)
        return self.get_paginated_response([instance_resource(row, bills[row.pk], now, opens=opens) for row in page])

    @extend_schema(operation_id="instances_create", request=InstanceIn, responses={201: schema_of(InstanceOut)})
    def post(self, request: Request) -> Response:
        """Rent an instance from a quote.

        With volumes, launch settings, or an image that isn't official, this also requires the scope
        `instances:connect`, since the instance's programs can read them.
        """
        wanted, renter = validated(InstanceIn, request.data), current_user(request)
        quote_id, expected = parse_public_id(QUOTE_PREFIX, wanted["quote_id"]), parse_expected(wanted, renter)
        order = {"renter": renter, "quote_id": quote_id, "expected": expected, **parse_choices(wanted)}
        if order["volume_ids"]:
            require_connect_scope_to_mount(request, quote_of(renter, quote_id))
        try:
            return idempotent_instance_response(request, lambda: (201, instance_response(rent_instance(**order))))
        except (PriceChanged, QuoteExpired) as error:
            error.extra["quote"] = quote_resource(renew_quote(renter=renter, quote_id=quote_id))
            raise
        except QuoteMismatch as error:
            fitting = quote_for_order(renter=renter, quote_id=quote_id, expected=expected)
            error.extra["quote"] = fitting and quote_resource(fitting)
            raise


class InstanceView(APIView):
    """Return one of your instances."""

    scopes: ClassVar = INSTANCE_SCOPES

    @extend_schema(operation_id="instances_retrieve", responses=schema_of(InstanceOut))
    def get(self, request: Request, instance_id: str) -> Response:
        return Response(instance_response(_own(request, instance_id), opens=may_connect(request)))

    @extend_schema(operation_id="instances_update", request=InstancePatch, responses=schema_of(InstanceOut))
    def patch(self, request: Request, instance_id: str) -> Response:
        wanted = validated(InstancePatch, request.data)
        changed = change_settings(
            renter=current_user(request), instance_id=instance_id_of(instance_id), wanted=parse_settings(wanted)
        )
        return Response(instance_response(changed, opens=may_connect(request)))

    @extend_schema(operation_id="instances_release", responses={202: schema_of(InstanceOut)})
    def delete(self, request: Request, instance_id: str) -> Response:
        """Release an instance: its container and its data are deleted.

        Idempotent.
        """
        released = release_instance(renter=current_user(request), instance_id=instance_id_of(instance_id))
        return Response(instance_response(released, opens=may_connect(request)), status=202)


class StartView(APIView):
    """Start a stopped instance again."""

    scopes: ClassVar = INSTANCE_SCOPES

    @extend_schema(operation_id="instances_start", request=StartIn, responses={202: schema_of(InstanceOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        """Start a stopped instance again.

        With other volumes or launch settings, or an image that isn't official, this also requires the scope
        `instances:connect`, since the instance's programs can read them.
        """
        wanted = validated(StartIn, request.data)
        limit = wanted.get("max_hourly_rate")
        order: dict[str, Any] = {
            "renter": current_user(request),
            "instance_id": instance_id_of(instance_id),
            "max_rate_micros": None if limit is None else parse_money(limit),
            "volume_ids": read_volume_ids(wanted.get("volume_ids")),
        }
        if order["volume_ids"]:
            require_connect_scope_to_mount(request, _own(request, instance_id))
        begin = start_without_gpu if wanted["mode"] == "cpu" else partial(start_instance, wait=wanted["wait"])
        return idempotent_instance_response(request, lambda: (202, instance_response(begin(**order))))


class RestartView(APIView):
    """Restart the container on the same GPUs; it goes on being charged."""

    scopes: ClassVar = INSTANCE_SCOPES

    @extend_schema(operation_id="instances_restart", request=RestartIn, responses={202: schema_of(InstanceOut)})
    def post(self, request: Request, instance_id: str) -> Response:
        """Restart the container; changing launch settings also requires the scope `instances:connect`."""
        launch = given_settings(validated(RestartIn, request.data))
        require_connect_scope_to_run(request, launch)
        order: dict[str, Any] = {"renter": current_user(request), "instance_id": instance_id_of(instance_id)}
        return idempotent_instance_response(
            request, lambda: (202, instance_response(restart_instance(**order, launch=launch)))
        )


class EventsView(GenericAPIView[InstanceEvent]):
    """List what happened to an instance, newest first."""

    scopes: ClassVar = INSTANCE_SCOPES
    serializer_class = schema_of(EventOut)
    ordering: ClassVar = ("-id",)

    @extend_schema(operation_id="instances_events", responses=list_of(EventOut))
    def get(self, request: Request, instance_id: str) -> Response:
        page = cast("list[InstanceEvent]", self.paginate_queryset(events_of(_own(request, instance_id))))
        return self.get_paginated_response([event_resource(event) for event in page])


class UsageView(APIView):
    """Return the charges of an instance."""

    scopes: ClassVar = INSTANCE_SCOPES

    @extend_schema(operation_id="instances_usage", responses=schema_of(UsageOut))
    def get(self, request: Request, instance_id: str) -> Response:
        instance = _own(request, instance_id)
        return Response(usage_resource(instance, cost_of(instance, clock.now()), charges_of(instance)))


class WatchesView(GenericAPIView[Watch]):
    """List your waitlist entries."""

    scopes: ClassVar = INSTANCE_SCOPES
    serializer_class = schema_of(WatchOut)
    ordering: ClassVar = ("-place",)
    states: ClassVar = OpenApiParameter(
        "state",
        str,
        many=True,
        enum=WatchState.values,
        description="Filter by state; default: all, including those that ended within 30 days",
    )

    def get_queryset(self) -> QuerySet[Watch]:
        return entries_in(current_user(self.request), self.request.query_params.getlist("state"))

    @extend_schema(operation_id="watches_list", responses=list_of(WatchOut), parameters=[states])
    def get(self, request: Request) -> Response:
        page = cast("list[Watch]", self.paginate_queryset(self.get_queryset()))
        return self.get_paginated_response(_watches(page))

    @extend_schema(operation_id="watches_create", request=WatchIn, responses={201: schema_of(WatchOut)})
    def post(self, request: Request) -> Response:
        wanted, user = validated(WatchIn, request.data), current_user(request)
        line, action = wanted.pop("q"), wanted.pop("action")
        lifetime = timedelta(hours=wanted.pop("expires_in_hours"))
        order = _watch_order(wanted)

        def take_place() -> tuple[int, WatchOut]:
            made = create_entry(user=user, line=line, action=action, order=order, lifetime=lifetime)
            return 201, _shown_watch(user, made.pk)

        return idempotent_response(request, take_place)


class WatchView(APIView):
    """One of your entries in the wait list."""

    scopes: ClassVar = INSTANCE_SCOPES

    @extend_schema(operation_id="watches_retrieve", responses=schema_of(WatchOut))
    def get(self, request: Request, watch_id: str) -> Response:
        """Return one of your waitlist entries."""
        return Response(_shown_watch(current_user(request), parse_public_id(WATCH_PREFIX, watch_id)))

    @extend_schema(operation_id="watches_cancel", responses={200: schema_of(WatchOut)})
    def delete(self, request: Request, watch_id: str) -> Response:
        """Cancel a waitlist entry and release its held funds.

        Idempotent.
        """
        user, row_id = current_user(request), parse_public_id(WATCH_PREFIX, watch_id)
        cancel_entry(user=user, watch_id=row_id)
        return Response(_shown_watch(user, row_id))


def _watch_order(wanted: dict[str, Any]) -> EntryOrder:
    price = wanted.pop("max_price")
    keys = _key_ids(wanted.pop("ssh_key_ids", None))
    return EntryOrder(**wanted, ssh_key_ids=keys, max_price_micros=None if price is None else parse_money(price))


def _shown_watch(user: User, watch_id: UUID) -> WatchOut:
    return _watches([entry_of(user, watch_id)])[0]


def _watches(watches: list[Any]) -> list[WatchOut]:
    """Return the entries; they carry `ahead`, as `entries_of` annotates it."""
    held = held_for_watches(watches)
    return [watch_resource(watch, watch.ahead, held.get(watch.pk, 0)) for watch in watches]


def _key_ids(texts: list[str] | None) -> list[UUID] | None:
    return None if texts is None else [parse_public_id("key", text) for text in texts]


def _own(request: Request, instance_id: str) -> Instance:
    return instance_of(current_user(request), instance_id_of(instance_id))
