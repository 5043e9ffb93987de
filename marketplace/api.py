"""The API of the market (public) and of a host owner's hosts."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, ClassVar, cast

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from accounts.idempotent_api import reply_once
from common.cursor import CursorPagination
from common.errors import FieldError, InvalidInput
from common.ids import parse_public_id, public_id
from common.json import to_json
from common.money import format_money, parse_money
from marketplace import serializers as shapes
from marketplace.representation import event_shape, facets_shape, host_shape, offer_shape
from marketplace.selectors import OfferFilter, facets, host_events, host_of, hosts_of, offer_page, offer_view
from marketplace.services.join_tokens import issue_join_token
from marketplace.services.offers import ListingChange, change_listing, set_draining

if TYPE_CHECKING:
    from accounts.models import User


class PublicView(APIView):
    """Open to everyone."""

    authentication_classes = ()
    permission_classes = (AllowAny,)


class OffersView(PublicView):
    """What can be rented now."""

    @extend_schema(operation_id="offers_list", parameters=[shapes.OfferQuery], responses=shapes.OfferPage)
    def get(self, request: Request) -> HttpResponse:
        page = offer_page(read_filter(request))
        body = {
            "next": _address(request, page.next),
            "previous": _address(request, page.previous),
            "results": [offer_shape(row) for row in page.offers],
        }
        return HttpResponse(to_json(body), content_type="application/json")


class FacetsView(PublicView):
    """How many offers each choice of a filter would leave."""

    @extend_schema(operation_id="offers_facets", parameters=[shapes.OfferQuery], responses=shapes.Facets)
    def get(self, request: Request) -> Response:
        return Response(facets_shape(facets(read_filter(request))))


class OfferDetailView(PublicView):
    """One offer, open or not."""

    @extend_schema(operation_id="offers_retrieve", responses=shapes.Offer)
    def get(self, request: Request, offer_id: str) -> Response:
        return Response(offer_shape(asdict(offer_view(parse_public_id("offr", offer_id)))))


class HostsView(APIView):
    """The account's own hosts."""

    scopes: ClassVar = {"GET": "hosts:read"}
    ordering = ("name", "id")

    @extend_schema(operation_id="hosts_list", responses=shapes.HostPage)
    def get(self, request: Request) -> Response:
        pages = CursorPagination()
        hosts = pages.paginate_queryset(hosts_of(_asker(request).pk), request, self) or []
        return pages.get_paginated_response([host_shape(host) for host in hosts])


class HostView(APIView):
    """One own host with its last events."""

    scopes: ClassVar = {"GET": "hosts:read"}

    @extend_schema(operation_id="hosts_retrieve", responses=shapes.HostDetail)
    def get(self, request: Request, host_id: str) -> Response:
        host = host_of(_asker(request).pk, parse_public_id("host", host_id))
        return Response({**host_shape(host), "events": [event_shape(event) for event in host_events(host.pk)]})


class ListingView(APIView):
    """Prices of an own host, and which of its offers are on the market."""

    scopes: ClassVar = {"PATCH": "hosts:write"}

    @extend_schema(operation_id="hosts_listing", request=shapes.Listing, responses=shapes.Host)
    def patch(self, request: Request, host_id: str) -> Response:
        changes = [_change(each) for each in _valid(shapes.Listing(data=request.data))["offers"]]
        key = parse_public_id("host", host_id)
        change_listing(actor_id=_asker(request).pk, host_id=key, changes=changes)
        return Response(host_shape(host_of(_asker(request).pk, key)))


class MaintenanceView(APIView):
    """Drain an own host, or end that."""

    scopes: ClassVar = {"POST": "hosts:write"}

    @extend_schema(operation_id="hosts_maintenance", request=shapes.Maintenance, responses=shapes.Host)
    def post(self, request: Request, host_id: str) -> Response:
        wanted, key = _valid(shapes.Maintenance(data=request.data)), parse_public_id("host", host_id)

        def work() -> tuple[int, Any]:
            set_draining(actor_id=_asker(request).pk, host_id=key, draining=wanted["draining"])
            return 200, host_shape(host_of(_asker(request).pk, key))

        return reply_once(request, work)


class JoinTokensView(APIView):
    """Leave to enrol one host, for 15 minutes."""

    scopes: ClassVar = {"POST": "hosts:write"}

    @extend_schema(operation_id="join_tokens_create", request=shapes.JoinTokenIn, responses={201: shapes.JoinToken})
    def post(self, request: Request) -> Response:
        wanted = _valid(shapes.JoinTokenIn(data=request.data))
        price_micros = parse_money(wanted.pop("price_hourly"))

        def work() -> tuple[int, Any]:
            token, secret = issue_join_token(owner=_asker(request), price_micros=price_micros, **wanted)
            return 201, _join_token(token, secret)

        return reply_once(request, work, once=("token", "command"))


def read_filter(request: Request) -> OfferFilter:
    """The filters of the address. An unknown one is refused: ignored, it would show offers that do not fit."""
    params = request.query_params
    unknown = sorted(set(params) - set(shapes.OfferQuery().fields))
    if unknown:
        hint = f"Known filters: {', '.join(shapes.OfferQuery().fields)}."
        wrong = [FieldError(name, "unknown", hint) for name in unknown]
        raise InvalidInput("The market does not know this filter.", errors=wrong)
    found = _valid(shapes.OfferQuery(data=params))
    price_max = found.pop("price_max", None)
    return OfferFilter(**found, price_max=None if price_max is None else parse_money(price_max))


def _asker(request: Request) -> "User":
    """The user behind the request; a view with `scopes` lets nobody else through."""
    return cast("User", request.user)


def _valid(serializer: serializers.Serializer[Any]) -> dict[str, Any]:
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


def _address(request: Request, cursor: str | None) -> str | None:
    return cursor and replace_query_param(request.build_absolute_uri(), "cursor", cursor)


def _change(wanted: dict[str, Any]) -> ListingChange:
    price = wanted.get("price_hourly")
    return ListingChange(
        offer_id=parse_public_id("offr", wanted["id"]),
        price_micros=None if price is None else parse_money(price),
        listed=wanted.get("listed"),
    )


def _join_token(token: Any, secret: str) -> dict[str, Any]:
    return {
        "id": public_id("join", token.pk),
        "host_name": token.host_name,
        "region": token.region,
        "price_hourly": format_money(token.price_micros),
        "expires_at": token.expires_at,
        "token": secret,
        "command": f"berth-agent enrol --url {settings.SITE_URL} --token {secret}",
    }
