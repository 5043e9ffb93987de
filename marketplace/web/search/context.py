"""Template context of the market page: options, filters, rows, and causes of an empty result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import parse_qsl
from uuid import UUID

from django.http import QueryDict
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from common.errors import DomainError, InvalidInput
from marketplace.constants import FREE_DATA_DISK_GB
from marketplace.errors import SearchSyntaxError
from marketplace.leasing.offer_selectors import OfferPage
from marketplace.pricing.offer_requirements import NO_IMAGE, ImageNeeds
from marketplace.search.index.executor import Removed
from marketplace.search.language.fields import BILLING_MODES, TERMS, Condition, OfferQuery
from marketplace.search.language.parser import write_line
from marketplace.search.messages import (
    LENGTH_LABELS,
    MODE_LABELS,
    TERM_LABELS,
    Words,
    condition_text,
    plain_number,
    reserved_label,
)
from marketplace.search.selectors import search_market
from marketplace.search.volume_locality import MOUNTABLE, PlaceOf, VolumePlace, transfer_to
from marketplace.web.search.filter_panel import THRESHOLDS, USUAL_COUNTS, Choice, fill_panel
from marketplace.web.search.home_context import EXAMPLES
from marketplace.web.search.language.query_string import parse_params, write_params
from marketplace.web.search.rows import OfferRow, offer_rows, rent_query
from marketplace.web.search.volume_parameter import near_volume, requested_place

SORT_LABELS: Final[Mapping[str, Words]] = {
    "price": _("Price: low to high"),
    "-value": _("Best value"),
    "-reliability": _("Reliability: high to low"),
    "-vram": _("VRAM: high to low"),
    "-gpu_free": _("Free GPUs: high to low"),
    "-newest": _("Newest first"),
}


@dataclass(frozen=True)
class ImageChoice:
    """An image that can be chosen before a host; `cuda` is the version that it needs, empty for none."""

    slug: str
    title: str
    cuda: str


@dataclass(frozen=True)
class Images:
    """Functions of the storage app, a layer above the market, passed in by the URL configuration."""

    needs: Callable[[str], ImageNeeds]
    choices: Callable[[], Sequence[ImageChoice]]
    place_of_volume: PlaceOf


@dataclass(frozen=True)
class Chip:
    """An active condition or option, the search without it, and how many offers it alone excludes."""

    what: Condition | str
    label: str
    query: str
    left_without: int
    hides: int

    @property
    def key(self) -> str:
        """Return the condition's name for an element's id."""
        return self.what if isinstance(self.what, str) else f"{self.what.term}-{self.what.op.name.lower()}"


@dataclass(frozen=True)
class Refusal:
    """A search that cannot be parsed: the line split at the error, the problem, and a suggestion."""

    detail: str
    hint: str = ""
    place: int = 0
    before: str = ""
    wrong: str = ""
    after: str = ""
    errors: tuple[tuple[str, str], ...] = ()


def market_context(params: QueryDict, images: Images, picks: Sequence[UUID]) -> dict[str, Any]:
    """Return the context of `market.html`, with `refused` for a search that cannot be parsed."""
    try:
        place = requested_place(params, images.place_of_volume)
        query = parse_params(near_volume(params, place), image_needs=images.needs)
        found = search_market(query, THRESHOLDS)
    except (InvalidInput, SearchSyntaxError) as error:
        return {"refused": _refusal(error, params.get("q", "")), "line": params.get("q", "")}
    page, choices = found.page, found.facets.choices
    panel = fill_panel(query.conditions, choices, found.enough)
    return {
        "query": query,
        "page": page,
        "rows": _with_volume_transfer(offer_rows(page.offers, query, picks), place),
        "beside": place,
        "total": page.total,
        "total_shown": f"{page.total:,}",
        "panel": panel,
        "rest": parse_qsl(write_params(OfferQuery(conditions=panel.rest))),
        **_with_volume_parameter(_addresses(query, page), place),
        **_reasons(query, found.removed, page.total),
        **_options(query, choices, images),
    }


def help_context() -> dict[str, Any]:
    """Return the context of the page about the search line."""
    terms = [(term.name, TERM_LABELS[term.name], term.unit) for term in TERMS.values()]
    return {"grammar_examples": EXAMPLES, "grammar_terms": terms}


def address_of(context: Mapping[str, Any]) -> str:
    """Return the page's shareable URL."""
    return f"{reverse('market')}?{context['share']}".removesuffix("?")


def _refusal(error: DomainError, line: str) -> Refusal:
    if not isinstance(error, SearchSyntaxError):
        return Refusal(error.detail, errors=tuple((each.field, each.detail) for each in error.errors))
    before, rest = line[: error.position], line[error.position :]
    wrong = rest.split(maxsplit=1)[0] if rest.strip() else ""
    return Refusal(error.detail, error.hint, error.position + 1, before, wrong, rest.removeprefix(wrong))


def _options(query: OfferQuery, counted: Mapping[str, Sequence[Any]], images: Images) -> dict[str, Any]:
    counts = {int(row.value): row.count for row in counted.get("count", ())}
    numbers = sorted({*USUAL_COUNTS, query.gpu_count})
    choices = images.choices()
    return {
        "counts": [Choice(str(n), str(n), counts.get(n), n == query.gpu_count) for n in numbers],
        "modes": [Choice(mode, str(MODE_LABELS[mode]), None, mode == query.billing_mode) for mode in BILLING_MODES],
        "lengths": [Choice(name, str(words), None, name == query.term) for name, words in LENGTH_LABELS.items()],
        "images": choices,
        "other_image": "" if query.image in {each.slug for each in choices} else query.image,
        "free_disk_gb": FREE_DATA_DISK_GB,
        "sorts": [Choice(name, str(words), None, name == query.sort) for name, words in SORT_LABELS.items()],
    }


def _addresses(query: OfferQuery, page: OfferPage) -> dict[str, Any]:
    """Return the search as a line and as URLs: its own, and those of the pages around this one."""
    first = replace(query, cursor=None)
    return {
        "line": write_line(first),
        "share": write_params(query),
        "search_query": write_params(first),
        "next_query": write_params(replace(query, cursor=page.next)),
        "previous_query": write_params(replace(query, cursor=page.previous)),
        "rent_query": rent_query(query),
    }


def _with_volume_transfer(rows: Sequence[OfferRow], place: VolumePlace | None) -> Sequence[OfferRow]:
    """Add to each row how the volume gets to its host, if one is to be mounted."""
    return rows if place is None else [replace(row, way=transfer_to(place, row.row)) for row in rows]


def _with_volume_parameter(addresses: dict[str, Any], place: VolumePlace | None) -> dict[str, Any]:
    """Add the volume to all URLs of the same search."""
    if place is None:
        return addresses
    same = ("share", "search_query", "next_query", "previous_query", "rent_query")
    return addresses | {name: f"{addresses[name]}&{MOUNTABLE}={place.id}".removeprefix("&") for name in same}


def _reasons(query: OfferQuery, removed: Sequence[Removed], total: int) -> dict[str, Any]:
    """Return chips in the order of the search, and ways out of an empty list, the most effective first."""
    chips = [_chip(query, each, total) for each in removed]
    ways_out = sorted((chip for chip in chips if chip.hides), key=lambda chip: -chip.left_without)
    image = next((chip.hides for chip in chips if chip.what == "image"), 0)
    return {"chips": chips, "ways_out": ways_out, "image_hides": image}


def _chip(query: OfferQuery, removed: Removed, total: int) -> Chip:
    label = condition_text(removed.what) if isinstance(removed.what, Condition) else option_text(removed.what, query)
    hides = removed.left_without - total
    return Chip(removed.what, label, write_params(_without(query, removed.what)), removed.left_without, hides)


def _without(query: OfferQuery, what: Condition | str) -> OfferQuery:
    query = replace(query, cursor=None)
    if isinstance(what, Condition):
        return replace(query, conditions=tuple(each for each in query.conditions if each != what))
    if what == "image":
        return replace(query, image="", image_needs=NO_IMAGE)
    return replace(query, **{what: getattr(OfferQuery(), what)})


def option_text(name: str, query: OfferQuery) -> str:
    match name:
        case "image":
            return gettext("Image: %(name)s") % {"name": query.image}
        case "gpu_count":
            return gettext("%(count)s or more GPUs") % {"count": query.gpu_count}
        case "billing_mode":
            return reserved_label(query.term) if query.billing_mode == "reserved" else str(MODE_LABELS[query.billing_mode])
        case _:
            return gettext("%(size)s GB data disk") % {"size": plain_number(query.data_disk_gb)}
