"""What one address of the market shows: a page with its counts, facets with what each part of the search keeps away."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from common import clock
from common.errors import NotFound
from marketplace.hosts.representation import offer_shape
from marketplace.pricing.offer_requirements import NO_IMAGE, terms_within
from marketplace.pricing.prices import all_in_micros, spot_price_micros, unit_price_micros
from marketplace.search.index.executor import Removed, Search
from marketplace.search.index.facets import Facets, facets_of
from marketplace.search.index.snapshot import searching
from marketplace.search.language.fields import OfferQuery
from marketplace.search.selectors import offer_page_json, offers_like

_IMAGE = "image"


@dataclass(frozen=True)
class MarketPage:
    """`results` is a JSON array of offers. The image hides what would match and cannot run it."""

    results: bytes
    next: str | None
    previous: str | None
    total: int
    hidden_by_image: int


@dataclass(frozen=True)
class MarketFacets:
    """Counts of each choice, and of the offers that each part of the search alone keeps away."""

    facets: Facets
    removed: list[Removed]
    hidden_by_image: int


def market_page(query: OfferQuery) -> MarketPage:
    """Raises InvalidInput for a cursor that this list did not give out."""
    results, following, previous, total = offer_page_json(query)
    hidden = 0
    if query.image_needs != NO_IMAGE:
        without = replace(query, image_needs=NO_IMAGE, limit=1, cursor=None)
        hidden = max(0, offer_page_json(without)[3] - total)
    return MarketPage(results, following, previous, total, hidden)


def market_facets(query: OfferQuery) -> MarketFacets:
    """Facets and removals of one moment: the market is looked at once."""
    with searching() as store:
        search = Search(store, query, clock.now())
        facets, removed = facets_of(search), search.removed()
    hidden = next((each.left_without - search.total for each in removed if each.what == _IMAGE), 0)
    return MarketFacets(facets, removed, hidden)


def priced_offers(ids: Sequence[UUID], query: OfferQuery) -> list[dict[str, Any]]:
    """These offers, open or not, as scripts see them, at what the wishes of `query` would cost; those gone are left out."""
    return [_priced(row, query) for row in offers_like(ids)]


def priced_offer(offer_id: UUID, query: OfferQuery) -> dict[str, Any]:
    """One of `priced_offers`. Raises NotFound."""
    for offer in priced_offers([offer_id], query):
        return offer
    raise NotFound("There is no such offer.")


def _priced(row: Mapping[str, Any], query: OfferQuery) -> dict[str, Any]:
    """Nothing is priced in a mode that the offer does not sell, nor a term that its host does not stay for."""
    now = clock.now()
    terms = terms_within(row["reserved_discounts"], listed_until=row["listed_until"], now=now)
    unit = unit_price_micros(
        mode=query.billing_mode,
        price_micros=row["price_micros"],
        term=query.term,
        reserved_discounts={term: row["reserved_discounts"][term] for term in terms},
        tiers=row["tiers"],
        spot_floor_micros=spot_price_micros(floor_micros=row["spot_floor_micros"], now_micros=row["spot_now_micros"]),
    )
    if unit is None:
        return offer_shape(row, now) | {"price": None, "total": None, "value": None}
    price, total = all_in_micros(
        unit_micros=unit,
        disk_micros_gb_day=row["disk_micros_gb_day"],
        data_disk_gb=query.data_disk_gb,
        gpu_count=query.gpu_count,
    )
    return offer_shape({**row, "price_all_in_micros": price, "total_micros": total}, now)
