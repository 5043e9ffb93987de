"""Every read of this app that is more than a row by its key."""

from marketplace.selectors.hosts import host_address, host_events, host_of, hosts_of, payee_of
from marketplace.selectors.leases import LiveLease, live_leases, live_leases_of
from marketplace.selectors.offers import (
    SORTS,
    FacetChoice,
    Facets,
    OfferFilter,
    OfferPage,
    OfferView,
    facets,
    offer_page,
    offer_view,
    open_offers,
)
from marketplace.selectors.silence import Silence, breaker_open, silence_at

__all__ = [
    "SORTS",
    "FacetChoice",
    "Facets",
    "LiveLease",
    "OfferFilter",
    "OfferPage",
    "OfferView",
    "Silence",
    "breaker_open",
    "facets",
    "host_address",
    "host_events",
    "host_of",
    "hosts_of",
    "live_leases",
    "live_leases_of",
    "offer_page",
    "offer_view",
    "open_offers",
    "payee_of",
    "silence_at",
]
