"""Addresses of the market: pages, and the API below /api/v1."""

from django.urls import URLPattern, path

from marketplace import (
    agent_key_api,
    agent_key_views,
    api,
    guide_api,
    guide_views,
    host_views,
    market_api,
    price_api,
    price_views,
    self_test_api,
    self_test_views,
    spot_api,
    trust_api,
    trust_views,
    views,
)
from marketplace.console import Images
from marketplace.search.beside import PlaceOf

web_urlpatterns: list[URLPattern] = [
    path("", views.home, name="home"),
    path("compare", views.compare, name="compare"),
    path("compare/pick", views.compare_pick, name="compare_pick"),
    path("compare/drop", views.compare_drop, name="compare_drop"),
    path("saved-searches", views.saved_searches, name="saved_searches"),
    path("saved-searches/<search_id>/delete", views.saved_search_delete, name="saved_search_delete"),
    path("guide", guide_views.guide, name="guide"),
    path("guide/<slug:topic>", guide_views.guide_topic, name="guide_topic"),
    path("advisor", guide_views.advisor, name="advisor"),
    path("offers/<offer_id>", views.offer, name="offer"),
    path("offers/<offer_id>/price", price_views.offer_price, name="offer_price"),
    path("offers/<offer_id>/prices", price_views.offer_prices, name="offer_prices"),
    path("offers/<offer_id>/listing", host_views.offer_listing, name="offer_listing"),
    path("hosts", host_views.my_hosts, name="my_hosts"),
    path("hosts/become-owner", host_views.become_host_owner, name="become_host_owner"),
    path("hosts/enrol", host_views.enrol_host, name="enrol_host"),
    path("hosts/<host_id>/until", price_views.host_until, name="host_until"),
    path("hosts/<host_id>/draining", host_views.host_draining, name="host_draining"),
    path("hosts/<host_id>/revoke-agent", agent_key_views.host_revoke_agent, name="host_revoke_agent"),
    path("hosts/<host_id>/self-test", self_test_views.host_self_test, name="host_self_test"),
    path("hosts/<host_id>/reliability", trust_views.reliability, name="reliability"),
    path("hosts/<host_id>/maintenance", trust_views.host_maintenance, name="host_maintenance"),
    path(
        "hosts/<host_id>/maintenance/<maintenance_id>/cancel",
        trust_views.maintenance_cancel,
        name="maintenance_cancel",
    ),
]

api_urlpatterns: list[URLPattern] = [
    path("offers/compare", market_api.CompareView.as_view(), name="api_offers_compare"),
    path("offers/<str:offer_id>/prices", price_api.OfferPricesView.as_view(), name="api_offer_prices"),
    path("offers/<str:offer_id>/spot-prices", spot_api.SpotPricesView.as_view(), name="api_offer_spot_prices"),
    path("offers/<str:offer_id>", market_api.OfferDetailView.as_view(), name="api_offer"),
    path("search-terms", market_api.SearchTermsView.as_view(), name="api_search_terms"),
    path("saved-searches", market_api.SavedSearchesView.as_view(), name="api_saved_searches"),
    path("saved-searches/<str:search_id>", market_api.SavedSearchView.as_view(), name="api_saved_search"),
    path("gpu-models", guide_api.GpuModelsView.as_view(), name="api_gpu_models"),
    path("gpu-models/<str:gpu_slug>", guide_api.GpuModelView.as_view(), name="api_gpu_model"),
    path("advice", guide_api.AdviceView.as_view(), name="api_advice"),
    path("hosts", api.HostsView.as_view(), name="api_hosts"),
    path("hosts/<str:host_id>", api.HostView.as_view(), name="api_host"),
    path("hosts/<str:host_id>/listing", api.ListingView.as_view(), name="api_host_listing"),
    path("hosts/<str:host_id>/revoke-agent", agent_key_api.RevokeAgentView.as_view(), name="api_host_revoke_agent"),
    path("hosts/<str:host_id>/self-test", self_test_api.SelfTestView.as_view(), name="api_host_self_test"),
    path("hosts/<str:host_id>/maintenance", trust_api.MaintenancesView.as_view(), name="api_host_maintenance"),
    path(
        "hosts/<str:host_id>/maintenance/<str:maintenance_id>",
        trust_api.MaintenanceView.as_view(),
        name="api_host_maintenance_one",
    ),
    path("hosts/<str:host_id>/reliability", trust_api.ReliabilityView.as_view(), name="api_host_reliability"),
    path("join-tokens", api.JoinTokensView.as_view(), name="api_join_tokens"),
]


def search_urlpatterns(image_needs: market_api.NeedsOfImage, place_of_volume: PlaceOf) -> list[URLPattern]:
    """The searches, which ask the storage above this floor which CUDA an image needs, and where a volume lies."""
    asked = {"image_needs": image_needs, "place_of_volume": place_of_volume}
    return [
        path("offers", market_api.OffersView.as_view(**asked), name="api_offers"),
        path("offers/facets", market_api.FacetsView.as_view(**asked), name="api_offer_facets"),
    ]


def market_urlpatterns(images: Images) -> list[URLPattern]:
    """The market's page, which offers the images of the storage above this floor."""
    return [path("market", views.market, {"images": images}, name="market")]
