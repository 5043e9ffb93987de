"""What the market's pages show: choices with their counts, the filters in force, the address that can be shared."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from common.money import format_money
from marketplace.catalogue import GpuModel, by_slug
from marketplace.forms import COUNTS, MarketForm
from marketplace.selectors import FacetChoice, Facets, OfferFilter, OfferView, facets, offer_page, offer_view, open_offers
from marketplace.share import usual_counts

_ON_A_PAGE: Final = 30
_ON_HOME: Final = 6

Query = list[tuple[str, str]]


@dataclass(frozen=True)
class Choice:
    """One box of a filter."""

    value: str
    label: str
    count: int
    chosen: bool


@dataclass(frozen=True)
class Chip:
    """A filter in force, and the address without it."""

    label: str | Promise
    query: str


def market_context(form: MarketForm) -> dict[str, Any]:
    wanted = replace(form.wanted(), limit=_ON_A_PAGE)
    counted, query = facets(wanted), query_of(wanted)
    return {
        "form": form,
        "wanted": wanted,
        "page": offer_page(wanted),
        "total": counted.total,
        "models": _choices(counted, "gpu_model", wanted.gpu_model),
        "regions": _choices(counted, "region", wanted.region),
        "kinds": {choice.value: choice.count for choice in counted.choices["simulated"]},
        "counts": COUNTS,
        "chips": _chips(wanted, query),
        "query": urlencode(query),
    }


def home_context() -> dict[str, Any]:
    counted = facets(OfferFilter())
    cheapest = min((choice.price_min_micros or 0 for choice in counted.choices["gpu_model"]), default=0)
    return {
        "offers": open_offers(OfferFilter(limit=_ON_HOME)),
        "total": counted.total,
        "models": counted.choices["gpu_model"],
        "regions": counted.choices["region"],
        "cheapest": cheapest,
    }


@dataclass(frozen=True)
class OfferFacts:
    """An offer and what the catalogue knows of its GPU."""

    offer: OfferView
    gpu: GpuModel

    @property
    def counts(self) -> list[int]:
        return usual_counts(self.offer.gpu_total)

    @property
    def is_open(self) -> bool:
        return self.offer.gpu_free > 0


def offer_facts(offer_id: Any) -> OfferFacts:
    offer = offer_view(offer_id)
    return OfferFacts(offer, by_slug(offer.gpu_model))


def query_of(wanted: OfferFilter) -> Query:
    """The filters that differ from none, as the address carries them."""
    kinds = {True: "yes", False: "no", None: ""}
    pairs: Query = [("gpu_model", slug) for slug in wanted.gpu_model] + [("region", name) for name in wanted.region]
    single = {
        "gpu_count": str(wanted.gpu_count) if wanted.gpu_count > 1 else "",
        "price_max": "" if wanted.price_max is None else format_money(wanted.price_max),
        "vram_gb_min": str(wanted.vram_gb_min or ""),
        "simulated": kinds[wanted.simulated],
        "sort": "" if wanted.sort == "price" else wanted.sort,
        "cursor": wanted.cursor or "",
    }
    return pairs + [(name, value) for name, value in single.items() if value]


def _choices(counted: Facets, name: str, chosen: Any) -> list[Choice]:
    """Every choice that leaves something, and those that are chosen although they leave nothing."""
    rows: list[FacetChoice] = counted.choices[name]
    found = [Choice(str(row.value), row.label, row.count, str(row.value) in chosen) for row in rows]
    missing = [value for value in chosen if value not in {choice.value for choice in found}]
    label = (lambda value: by_slug(value).name) if name == "gpu_model" else str
    return found + [Choice(value, label(value), 0, True) for value in missing]


def _chips(wanted: OfferFilter, query: Query) -> list[Chip]:
    words: dict[str, Callable[[str], str]] = {
        "gpu_model": lambda value: by_slug(value).name,
        "region": str,
        "gpu_count": lambda value: _("%(count)s or more GPUs") % {"count": value},
        "price_max": lambda value: _("at most %(price)s per GPU-hour") % {"price": value},
        "vram_gb_min": lambda value: _("%(size)s GB VRAM or more") % {"size": value},
        "simulated": lambda value: _("simulated") if value == "yes" else _("real GPUs"),
    }
    return [
        Chip(words[name](value), urlencode([pair for pair in query if pair != (name, value) and pair[0] != "cursor"]))
        for name, value in query
        if name in words
    ]
