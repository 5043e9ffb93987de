"""Every read of this app that is more than a row by its key."""

from marketplace.search.engine import Removed
from marketplace.search.facets import FacetChoice, Facets
from marketplace.selectors.hosts import HostRecord, host_address, host_events, host_of, host_record, hosts_of, payee_of
from marketplace.selectors.leases import LiveLease, live_leases, live_leases_of
from marketplace.selectors.offers import (
    OfferPage,
    OfferView,
    offer_view,
)
from marketplace.selectors.prices import PriceDay, PricePoint, daily_prices, price_history
from marketplace.selectors.search import (
    MarketView,
    offer_page_json,
    offers_like,
    search_facets,
    search_market,
    search_offers,
    what_removed,
)
from marketplace.selectors.self_tests import MeasuredFact, ProvenFacts, facts_of_offer, self_tests_of
from marketplace.selectors.silence import Silence, breaker_open, hosts_held_back, silence_at

__all__ = [
    "FacetChoice",
    "Facets",
    "HostRecord",
    "LiveLease",
    "MarketView",
    "MeasuredFact",
    "OfferPage",
    "OfferView",
    "PriceDay",
    "PricePoint",
    "ProvenFacts",
    "Removed",
    "Silence",
    "breaker_open",
    "daily_prices",
    "facts_of_offer",
    "host_address",
    "host_events",
    "host_of",
    "host_record",
    "hosts_held_back",
    "hosts_of",
    "live_leases",
    "live_leases_of",
    "offer_page_json",
    "offer_view",
    "offers_like",
    "payee_of",
    "price_history",
    "search_facets",
    "search_market",
    "search_offers",
    "self_tests_of",
    "silence_at",
    "what_removed",
]
