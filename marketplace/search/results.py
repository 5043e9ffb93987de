"""Results of one request: a page with its counts, or facets with the effect of each condition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from common import clock
from common.errors import NotFound
from marketplace.hosts.offer_resources import Offer, offer_resource
from marketplace.pricing.offer_requirements import NO_IMAGE, terms_within
from marketplace.pricing.prices import all_in_micros, spot_price_micros, unit_price_micros
from marketplace.search.index.executor import Removed, SearchExecution
from marketplace.search.index.facets import Facets, facets_of
from marketplace.search.index.snapshot import open_snapshot
from marketplace.search.language.fields import OfferQuery
from marketplace.search.selectors import offer_page_json, offers_like

_IMAGE = "image"


@dataclass(frozen=True)
class MarketPage:
    """A page; `results` is a JSON array of offers.

    `hidden_by_image` counts matches that cannot run the image.
    """

    results: bytes
    next: str | None
    previous: str | None
    total: int
    hidden_by_image: int


@dataclass(frozen=True)
class MarketFacets:
    """Counts of each choice, and of the offers that each part of the search alone excludes."""

    facets: Facets
    removed: list[Removed]
    hidden_by_image: int


def market_page(query: OfferQuery) -> MarketPage:
    """Return the page of a search.

    Raises:
        InvalidInput: the cursor is not from this list.
    """
    results, following, previous, total = offer_page_json(query)
    hidden = 0
    if query.image_needs != NO_IMAGE:
        without = replace(query, image_needs=NO_IMAGE, limit=1, cursor=None)
        hidden = max(0, offer_page_json(without)[3] - total)
    return MarketPage(results, following, previous, total, hidden)


def market_facets(query: OfferQuery) -> MarketFacets:
    """Return facets and excluded counts as of one moment: the market is read once."""
    with open_snapshot() as store:
        search = SearchExecution(store, query, clock.now())
        facets, removed = facets_of(search), search.removed()
    hidden = next((each.left_without - search.total for each in removed if each.what == _IMAGE), 0)
    return MarketFacets(facets, removed, hidden)


def priced_offers(ids: Sequence[UUID], query: OfferQuery) -> list[Offer]:
    """Return these offers open or not, priced with the options of `query`.

    Offers that no longer exist are left out.
    """
    return [_priced(row, query) for row in offers_like(ids)]


def priced_offer(offer_id: UUID, query: OfferQuery) -> Offer:
    """Return one offer as in `priced_offers`.

    Raises:
        NotFound: there is no such offer.
    """
    for offer in priced_offers([offer_id], query):
        return offer
    raise NotFound("This offer doesn't exist.")


def _priced(row: Mapping[str, Any], query: OfferQuery) -> Offer:
    """Return the offer with prices.

    Modes that it does not sell and terms that its host does not stay for have none.
    """
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
        return replace(offer_resource(row, now), price=None, total=None, value=None)
    price, total = all_in_micros(
        unit_micros=unit,
        disk_micros_gb_day=row["disk_micros_gb_day"],
        data_disk_gb=query.data_disk_gb,
        gpu_count=query.gpu_count,
    )
    return offer_resource({**row, "price_all_in_micros": price, "total_micros": total}, now)
