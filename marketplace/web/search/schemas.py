"""Serializers of searches, their responses, and saved searches, for the OpenAPI document."""

from typing import Any

from rest_framework import serializers

from common.http.fields import NameText
from marketplace.search.language.parser import LINE_MAX
from marketplace.search.saved_searches import NAME_CHARS
from marketplace.web.hosts.serializers import Offer
from marketplace.web.search.serializers import FACETS


class VolumeWayOut(serializers.Serializer[Any]):
    """How the volume to be mounted gets to an offer's host."""

    here = serializers.BooleanField(help_text="It is on this host")
    bytes = serializers.IntegerField(help_text="Bytes to transfer first; 0: none")
    minutes = serializers.IntegerField(
        allow_null=True, help_text="Estimate from the hosts' measured networks; null: unknown"
    )


class PlacedOffer(Offer):
    """An offer as a search shows it."""

    volume = VolumeWayOut(required=False, help_text="Only with `mountable_volume`")


class OfferPage(serializers.Serializer[Any]):
    """A page of offers; `next` and `previous` are URLs."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    total = serializers.IntegerField(help_text="Offers that match, on all pages")
    hidden_by_image = serializers.IntegerField(help_text="Offers that match but can't run the image")
    results = PlacedOffer(many=True)


class OfferList(serializers.Serializer[Any]):
    """Offers for comparison, in the requested order."""

    results = Offer(many=True)


class FacetChoice(serializers.Serializer[Any]):
    """One choice of a filter."""

    value = serializers.JSONField(help_text="As the filter expects it")
    label = serializers.CharField()  # type: ignore[assignment]  # fields are taken off the class, which has a `label`
    count = serializers.IntegerField()
    price_min = serializers.CharField(allow_null=True)


class Removed(serializers.Serializer[Any]):
    """A part of the search, and how many offers would match without it."""

    filter = serializers.CharField(help_text="As written in a search query")
    parameter = serializers.CharField(help_text="As written in a URL")
    left_without = serializers.IntegerField()
    removes = serializers.IntegerField(help_text="Offers excluded by this condition alone")


class _Facets(serializers.Serializer[Any]):
    """Counts for each choice; a list ignores its own filter."""

    total = serializers.IntegerField()
    hidden_by_image = serializers.IntegerField()
    removed = Removed(many=True)


Facets = type(
    "Facets", (_Facets,), {"__doc__": _Facets.__doc__} | {name: FacetChoice(many=True) for name in FACETS.values()}
)


class SearchTerm(serializers.Serializer[Any]):
    """One term or option of the search box."""

    name = serializers.CharField()
    kind = serializers.CharField(help_text="number, money, version, choice, flag or text")
    unit = serializers.CharField(allow_blank=True, help_text="Default unit of a number")
    ops = serializers.ListField(child=serializers.CharField())
    parameters = serializers.ListField(child=serializers.CharField(), help_text="The same as a URL parameter")
    units = serializers.ListField(child=serializers.CharField(), help_text="Accepted units after a number")
    choices = serializers.ListField(child=serializers.CharField(), help_text="All choices, or the known ones")
    about = serializers.CharField()


class SearchLimits(serializers.Serializer[Any]):
    """Limits of a search."""

    line_characters = serializers.IntegerField()
    conditions = serializers.IntegerField()
    list_values = serializers.IntegerField()


class SearchTerms(serializers.Serializer[Any]):
    """The grammar of the search box."""

    example = serializers.CharField()
    terms = SearchTerm(many=True)
    wishes = SearchTerm(many=True)
    limits = SearchLimits()


class SavedSearchIn(serializers.Serializer[Any]):
    """A search to save."""

    name = NameText(max_length=NAME_CHARS)
    line = serializers.CharField(max_length=LINE_MAX, allow_blank=True, help_text="In the search box's syntax")


class SavedSearchName(serializers.Serializer[Any]):
    """New name of a saved search."""

    name = NameText(max_length=NAME_CHARS)


class SavedSearch(serializers.Serializer[Any]):
    """A saved search."""

    id = serializers.CharField()
    name = serializers.CharField()
    line = serializers.CharField(allow_blank=True)
    query = serializers.CharField(
        allow_blank=True, allow_null=True, help_text="The same search as parameters of GET /offers; null: no longer readable"
    )
    created_at = serializers.DateTimeField()


class SavedSearchPage(serializers.Serializer[Any]):
    """A page of saved searches."""

    next = serializers.CharField(allow_null=True)
    previous = serializers.CharField(allow_null=True)
    results = SavedSearch(many=True)
