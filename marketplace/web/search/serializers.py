"""Requests and responses of searches and saved searches."""

import json
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, Final

from rest_framework import serializers

from common.http.fields import NameText
from common.http.resource_schemas import page_of, schema_of
from common.ids import public_id
from common.json import to_json
from common.money import format_money
from common.resources import resource
from marketplace import models
from marketplace.errors import SearchSyntaxError
from marketplace.hosts.offer_resources import Offer
from marketplace.search.index import facets
from marketplace.search.language.fields import Condition, OfferQuery
from marketplace.search.language.options import CONDITIONS_MAX, LIST_MAX
from marketplace.search.language.parser import LINE_MAX, parse_line, write_line
from marketplace.search.results import MarketFacets, MarketPage
from marketplace.search.saved_searches import NAME_CHARS
from marketplace.search.volume_locality import VolumePlace, VolumeWayOut, way_to_shown
from marketplace.web.search.language.query_string import write_params
from marketplace.web.search.language.reference_table import Row, option_rows, term_rows

EXAMPLE: Final = "gpu=rtx-3090 count>=2 region in [cn-north,eu-west] price<1.5"
# Facets by the parameter that takes their values.
FACETS: Final = {
    "gpu": "gpu_model",
    "series": "gpu_series",
    "architecture": "architecture",
    "region": "region",
    "runtime": "runtime",
    "simulated": "simulated",
    "verified": "verified",
    "nvlink": "nvlink",
    "disk": "disk_kind",
    "vram": "vram",
    "cuda": "cuda",
    "count": "gpu_count",
}


class PlacedOffer(schema_of(Offer)):  # type: ignore[misc]  # mypy takes no class that a function returns
    """An offer as a search shows it."""

    volume = schema_of(VolumeWayOut)(required=False, help_text="Only with `mountable_volume`")


class OfferPage(serializers.Serializer[Any]):
    """A page of offers; `next` and `previous` are URLs."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    total = serializers.IntegerField(help_text="Offers that match, on all pages")
    hidden_by_image = serializers.IntegerField(help_text="Offers that match but can't run the image")
    results = PlacedOffer(many=True)


@resource
class OfferList:
    """Offers for comparison, in the requested order."""

    results: list[Offer]


@resource
class FacetChoice:
    """One choice of a filter."""

    value: Annotated[Any, "Value to use in the filter"]
    label: str
    count: int
    price_min: str | None


@resource
class Removed:
    """A part of the search, and how many offers would match without it."""

    filter: Annotated[str, "As written in a search query"]
    parameter: Annotated[str, "As written in a URL"]
    left_without: int
    removes: Annotated[int, "Offers excluded by this condition alone"]


@resource
class Facets:
    """Counts for each choice; a list ignores its own filter."""

    total: int
    hidden_by_image: int
    removed: list[Removed]
    gpu_model: list[FacetChoice]
    gpu_series: list[FacetChoice]
    architecture: list[FacetChoice]
    vram: list[FacetChoice]
    region: list[FacetChoice]
    runtime: list[FacetChoice]
    simulated: list[FacetChoice]
    verified: list[FacetChoice]
    nvlink: list[FacetChoice]
    disk_kind: list[FacetChoice]
    cuda: list[FacetChoice]
    gpu_count: list[FacetChoice]


@resource
class SearchTerm:
    """One term or option of the search box."""

    name: str
    kind: Annotated[str, "number, money, version, choice, flag or text"]
    unit: Annotated[str, "Default unit of a number"]
    ops: list[str]
    parameters: Annotated[list[str], "The same as a URL parameter"]
    units: Annotated[list[str], "Accepted units after a number"]
    choices: Annotated[list[str], "All choices, or the known ones"]
    about: str


@resource
class SearchLimits:
    """Limits of a search."""

    line_characters: int
    conditions: int
    list_values: int


@resource
class SearchTerms:
    """The grammar of the search box."""

    example: str
    terms: list[SearchTerm]
    wishes: list[SearchTerm]
    limits: SearchLimits


class SavedSearchIn(serializers.Serializer[Any]):
    """A search to save."""

    name = NameText(max_length=NAME_CHARS)
    line = serializers.CharField(max_length=LINE_MAX, allow_blank=True, help_text="In the search box's syntax")


class SavedSearchName(serializers.Serializer[Any]):
    """New name of a saved search."""

    name = NameText(max_length=NAME_CHARS)


@resource
class SavedSearch:
    """A saved search."""

    id: str
    name: str
    line: str
    query: Annotated[str | None, "The same search as parameters of GET /offers; null: no longer readable"]
    created_at: datetime


SavedSearchPage = page_of(SavedSearch, "SavedSearchPage", "A page of saved searches.")


def offers_json(page: MarketPage, following: str | None, previous: str | None, place: VolumePlace | None) -> bytes:
    """Return a page as JSON; its offers are encoded already.

    `following` and `previous` are URLs, `place` is that of a volume to be mounted.
    """
    around = {"next": following, "previous": previous, "total": page.total, "hidden_by_image": page.hidden_by_image}
    results = page.results
    if place is not None:
        results = to_json([offer | {"volume": way_to_shown(place, offer)} for offer in json.loads(results)])
    return b'%s,"results":%s}' % (to_json(around)[:-1], results)


def facets_json(found: MarketFacets, query: OfferQuery) -> bytes:
    total = found.facets.total
    removed = [_removed(each.what, query, each.left_without, total) for each in found.removed]
    choices = {FACETS[term]: [_choice(each) for each in row] for term, row in found.facets.choices.items()}
    return to_json(Facets(total=total, hidden_by_image=found.hidden_by_image, removed=removed, **choices))


def _choice(choice: facets.FacetChoice) -> FacetChoice:
    low = choice.price_min_micros
    price = None if low is None else format_money(low)
    return FacetChoice(value=choice.value, label=choice.label, count=choice.count, price_min=price)


def _removed(what: Condition | str, query: OfferQuery, left_without: int, total: int) -> Removed:
    """Return a condition, or an option by the name of its field, with its effect."""
    if isinstance(what, Condition):
        alone = OfferQuery(conditions=(what,))
    else:
        wished = {what: getattr(query, what)} | ({"term": query.term} if what == "billing_mode" else {})
        alone = OfferQuery(**wished)
    line, address = _written(alone)
    return Removed(filter=line, parameter=address, left_without=left_without, removes=left_without - total)


@lru_cache(maxsize=4096)
def _written(alone: OfferQuery) -> tuple[str, str]:
    """Return one part of a search as a line and as parameters.

    Cached, since most searches consist of the same few parts.
    """
    return write_line(alone), write_params(alone)


def terms_resource() -> SearchTerms:
    return SearchTerms(
        example=EXAMPLE,
        terms=[_row(row) for row in term_rows()],
        wishes=[_row(row) for row in option_rows()],
        limits=SearchLimits(line_characters=LINE_MAX, conditions=CONDITIONS_MAX, list_values=LIST_MAX),
    )


def _row(row: Row) -> SearchTerm:
    return SearchTerm(
        name=row.name,
        kind=row.kind,
        unit=row.unit,
        ops=list(row.ops),
        parameters=list(row.parameters),
        units=list(row.units),
        choices=list(row.choices),
        about=row.about,
    )


def saved_search_resource(search: models.SavedSearch) -> SavedSearch:
    return SavedSearch(
        id=public_id("srch", search.pk),
        name=search.name,
        line=search.line,
        query=_address_of(search.line),
        created_at=search.created_at,
    )


def _address_of(line: str) -> str | None:
    """Return the parameters of a line, or None for one saved under an earlier grammar or catalogue."""
    try:
        return write_params(parse_line(line))
    except SearchSyntaxError:
        return None
