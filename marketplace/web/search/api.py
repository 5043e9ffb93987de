"""API of the market: searches, single offers, comparisons, the grammar, and saved searches."""

import hashlib
from collections.abc import Callable
from typing import Any, ClassVar, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.cache import get_conditional_response
from django.utils.encoding import iri_to_uri
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.web.idempotency import idempotent_response
from accounts.web.permissions import current_user
from common.errors import FieldError, InvalidInput, NotFound
from common.http.pagination import CursorPagination
from common.http.resource_schemas import schema_of
from common.http.views import PublicView, validated
from common.ids import parse_public_id
from common.json import to_json
from marketplace.hosts.offer_resources import Offer
from marketplace.pricing.offer_requirements import ImageNeeds
from marketplace.search.language.fields import OfferQuery
from marketplace.search.results import market_facets, market_page, priced_offer, priced_offers
from marketplace.search.saved_searches import delete_search, rename_search, save_search, saved_search_of, saved_searches_of
from marketplace.search.volume_locality import MOUNTABLE, PlaceOf, VolumePlace
from marketplace.web.search import serializers
from marketplace.web.search.language.openapi_parameters import (
    PRICE_OPTIONS,
    option_parameters,
    page_parameters,
    search_parameters,
)
from marketplace.web.search.language.query_string import parse_options, parse_query_string
from marketplace.web.search.serializers import facets_json, offers_json, saved_search_resource, terms_resource
from marketplace.web.search.volume_parameter import near_volume, requested_place

NeedsOfImage = Callable[[str], ImageNeeds]

COMPARED_MAX: Final = 4
_FRESH: Final = "public, max-age=0, must-revalidate"
_IF_NONE_MATCH: Final = OpenApiParameter("If-None-Match", str, "header", description="ETag of a cached response")
_NOT_MODIFIED: Final = OpenApiResponse(description="Not modified")
_BESIDE: Final = OpenApiParameter(
    MOUNTABLE,
    str,
    description="vol_…: only offers in its region; `volume` of each says whether it is on this host or is migrated first",
)
_PAGE: Final = [*search_parameters(), _BESIDE, *page_parameters(), _IF_NONE_MATCH]


class SearchView(PublicView):
    """Base of search views.

    Storage is a layer above the market, so the URL configuration passes in what an image needs.
    """

    image_needs: NeedsOfImage | None = None
    place_of_volume: PlaceOf | None = None

    def query_of(self, request: Request) -> OfferQuery:
        """Return the search in the query string.

        Raises:
            InvalidInput: a parameter is wrong.
            SearchSyntaxError: the search line cannot be parsed.
        """
        address = request.META["QUERY_STRING"]
        if f"{MOUNTABLE}=" in address:  # a search without a volume stays unchanged
            address = near_volume(QueryDict(address), self.place(request)).urlencode()
        return parse_query_string(address, image_needs=self.needs)

    def place(self, request: Request) -> VolumePlace | None:
        """Return the place of the volume to be mounted, if one is named."""
        assert self.place_of_volume is not None  # given by `search_urlpatterns`
        return requested_place(request.query_params, self.place_of_volume)

    def needs(self, image: str) -> ImageNeeds:
        assert self.image_needs is not None  # given by `search_urlpatterns`
        return self.image_needs(image)


class OffersView(SearchView):
    """List offers that can be rented now."""

    @extend_schema(operation_id="offers_list", parameters=_PAGE, responses={200: serializers.OfferPage, 304: _NOT_MODIFIED})
    def get(self, request: Request) -> HttpResponse:
        page = market_page(self.query_of(request))
        addresses = (_address(request, page.next), _address(request, page.previous))
        return _tagged(request, offers_json(page, *addresses, self.place(request)))


class FacetsView(SearchView):
    """Return how many offers each choice of a filter would match, and how many each condition excludes."""

    @extend_schema(
        operation_id="offers_facets", parameters=_PAGE, responses={200: schema_of(serializers.Facets), 304: _NOT_MODIFIED}
    )
    def get(self, request: Request) -> HttpResponse:
        query = self.query_of(request)
        return _tagged(request, facets_json(market_facets(query), query))


class OfferDetailView(PublicView):
    """Return one offer, open or not, with the requested prices."""

    @extend_schema(operation_id="offers_retrieve", parameters=option_parameters(*PRICE_OPTIONS), responses=schema_of(Offer))
    def get(self, request: Request, offer_id: str) -> Response:
        query = parse_options(request.query_params, names=PRICE_OPTIONS)
        return Response(priced_offer(parse_public_id("offr", offer_id), query))


class CompareView(PublicView):
    """Return up to four offers with comparable prices; one that no longer exists is left out."""

    @extend_schema(
        operation_id="offers_compare",
        parameters=[
            OpenApiParameter(
                "ids",
                {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": COMPARED_MAX},
                required=True,
                style="form",
                explode=False,
                description="Offer IDs, separated by commas",
            ),
            *option_parameters(*PRICE_OPTIONS),
        ],
        responses=schema_of(serializers.OfferList),
    )
    def get(self, request: Request) -> Response:
        query = parse_options(request.query_params, names=PRICE_OPTIONS, others=("ids",))
        return Response(serializers.OfferList(results=priced_offers(_ids(request), query)))


class SearchTermsView(PublicView):
    """Return the grammar of the search box: every term with its operators, parameters, units and choices."""

    @extend_schema(
        operation_id="search_terms",
        responses={200: schema_of(serializers.SearchTerms), 304: _NOT_MODIFIED},
        parameters=[_IF_NONE_MATCH],
    )
    def get(self, request: Request) -> HttpResponse:
        return _tagged(request, to_json(terms_resource()))


class SavedSearchesView(APIView):
    """List your saved searches, or save one."""

    scopes: ClassVar = {"GET": "instances:read", "POST": "instances:write"}
    ordering = ("name", "id")

    @extend_schema(operation_id="saved_searches_list", responses=serializers.SavedSearchPage)
    def get(self, request: Request) -> Response:
        pages = CursorPagination()
        searches = pages.paginate_queryset(saved_searches_of(current_user(request).pk), request, self) or []
        return pages.get_paginated_response([saved_search_resource(each) for each in searches])

    @extend_schema(
        operation_id="saved_searches_create",
        request=serializers.SavedSearchIn,
        responses={201: schema_of(serializers.SavedSearch)},
    )
    def post(self, request: Request) -> Response:
        wanted = validated(serializers.SavedSearchIn, request.data)

        def work() -> tuple[int, Any]:
            return 201, saved_search_resource(save_search(user=current_user(request), **wanted))

        return idempotent_response(request, work)


class SavedSearchView(APIView):
    """Return, rename or delete one saved search."""

    scopes: ClassVar = {"GET": "instances:read", "PATCH": "instances:write", "DELETE": "instances:write"}

    @extend_schema(operation_id="saved_searches_retrieve", responses=schema_of(serializers.SavedSearch))
    def get(self, request: Request, search_id: str) -> Response:
        return Response(saved_search_resource(saved_search_of(current_user(request).pk, parse_public_id("srch", search_id))))

    @extend_schema(
        operation_id="saved_searches_rename",
        request=serializers.SavedSearchName,
        responses=schema_of(serializers.SavedSearch),
    )
    def patch(self, request: Request, search_id: str) -> Response:
        wanted, key = validated(serializers.SavedSearchName, request.data), parse_public_id("srch", search_id)
        return Response(saved_search_resource(rename_search(user_id=current_user(request).pk, search_id=key, **wanted)))

    @extend_schema(operation_id="saved_searches_delete", responses={204: None})
    def delete(self, request: Request, search_id: str) -> Response:
        delete_search(user_id=current_user(request).pk, search_id=parse_public_id("srch", search_id))
        return Response(status=204)


def _tagged(request: Request, body: bytes) -> HttpResponse:
    """Return the response with an entity tag of its bytes, or 304 if the client has it.

    The tag is not derived from the market's state: the response also depends on the clock (how long a host
    stays).
    """
    tag = f'W/"{hashlib.sha1(body, usedforsecurity=False).hexdigest()}"'
    headers = {"ETag": tag, "Cache-Control": _FRESH}
    whole = HttpResponse(body, content_type="application/json", headers=headers)
    response = get_conditional_response(request._request, etag=tag, response=whole) or whole
    response.headers["Cache-Control"] = _FRESH
    return response


def _address(request: Request, cursor: str | None) -> str | None:
    """Return this request's URL with another cursor."""
    if cursor is None:
        return None
    http: HttpRequest = request._request
    kept = [part for part in http.META["QUERY_STRING"].split("&") if part and not part.startswith("cursor=")]
    return f"{http.build_absolute_uri(http.path)}?{iri_to_uri('&'.join([*kept, f'cursor={cursor}']))}"


def _ids(request: Request) -> list[UUID]:
    ids = [each for each in ",".join(request.query_params.getlist("ids")).split(",") if each]
    try:
        if 1 <= len(ids) <= COMPARED_MAX:
            return [parse_public_id("offr", each) for each in dict.fromkeys(ids)]
        detail = f"Name 1 to {COMPARED_MAX} offers, with commas between."
    except NotFound as error:
        detail = str(error.detail)
    raise InvalidInput("This can't be compared.", errors=[FieldError("ids", "invalid", detail)])
