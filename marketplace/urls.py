"""URLs of the market: pages, and the API below /api/v1."""

from django.urls import URLPattern, path

from marketplace.search.volume_locality import PlaceOf
from marketplace.web.guide import api as guide_api
from marketplace.web.guide import views as guide_views
from marketplace.web.hosts import api
from marketplace.web.hosts import views as hosts_views
from marketplace.web.pricing import api as pricing_api
from marketplace.web.pricing import views as pricing_views
from marketplace.web.reliability import api as reliability_api
from marketplace.web.reliability import views as reliability_views
from marketplace.web.search import api as search_api
from marketplace.web.search import views
from marketplace.web.search.context import Images
from marketplace.web.self_tests import api as self_tests_api
from marketplace.web.self_tests import views as self_tests_views
from marketplace.web.spot_market import api as spot_market_api

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
    path("offers/<offer_id>/price", pricing_views.offer_price, name="offer_price"),
    path("offers/<offer_id>/prices", pricing_views.offer_prices, name="offer_prices"),
    path("offers/<offer_id>/listing", hosts_views.offer_listing, name="offer_listing"),
    path("hosts", hosts_views.my_hosts, name="my_hosts"),
    path("hosts/become-owner", hosts_views.become_host_owner, name="become_host_owner"),
    path("hosts/enrol", hosts_views.enrol_host, name="enrol_host"),
    path("hosts/<host_id>/until", pricing_views.host_until, name="host_until"),
    path("hosts/<host_id>/draining", hosts_views.host_draining, name="host_draining"),
    path("hosts/<host_id>/revoke-agent", hosts_views.host_revoke_agent, name="host_revoke_agent"),
    path("hosts/<host_id>/self-test", self_tests_views.host_self_test, name="host_self_test"),
    path("hosts/<host_id>/reliability", reliability_views.reliability, name="reliability"),
    path("hosts/<host_id>/maintenance", reliability_views.host_maintenance, name="host_maintenance"),
    path(
        "hosts/<host_id>/maintenance/<maintenance_id>/cancel",
        reliability_views.maintenance_cancel,
        name="maintenance_cancel",
    ),
]

api_urlpatterns: list[URLPattern] = [
    path("offers/compare", search_api.CompareView.as_view(), name="api_offers_compare"),
    path("offers/<str:offer_id>/prices", pricing_api.OfferPricesView.as_view(), name="api_offer_prices"),
    path("offers/<str:offer_id>/spot-prices", spot_market_api.SpotPricesView.as_view(), name="api_offer_spot_prices"),
    path("offers/<str:offer_id>", search_api.OfferDetailView.as_view(), name="api_offer"),
    path("search-terms", search_api.SearchTermsView.as_view(), name="api_search_terms"),
    path("saved-searches", search_api.SavedSearchesView.as_view(), name="api_saved_searches"),
    path("saved-searches/<str:search_id>", search_api.SavedSearchView.as_view(), name="api_saved_search"),
    path("gpu-models", guide_api.GpuModelsView.as_view(), name="api_gpu_models"),
    path("gpu-models/<str:gpu_slug>", guide_api.GpuModelView.as_view(), name="api_gpu_model"),
    path("advice", guide_api.AdviceView.as_view(), name="api_advice"),
    path("hosts", api.HostsView.as_view(), name="api_hosts"),
    path("hosts/<str:host_id>", api.HostView.as_view(), name="api_host"),
    path("hosts/<str:host_id>/listing", api.ListingView.as_view(), name="api_host_listing"),
    path("hosts/<str:host_id>/revoke-agent", api.RevokeAgentView.as_view(), name="api_host_revoke_agent"),
    path("hosts/<str:host_id>/self-test", self_tests_api.SelfTestView.as_view(), name="api_host_self_test"),
    path("hosts/<str:host_id>/maintenance", reliability_api.MaintenancesView.as_view(), name="api_host_maintenance"),
    path(
        "hosts/<str:host_id>/maintenance/<str:maintenance_id>",
        reliability_api.MaintenanceView.as_view(),
        name="api_host_maintenance_one",
    ),
    path("hosts/<str:host_id>/reliability", reliability_api.ReliabilityView.as_view(), name="api_host_reliability"),
    path("join-tokens", api.JoinTokensView.as_view(), name="api_join_tokens"),
]


def search_urlpatterns(image_needs: search_api.NeedsOfImage, place_of_volume: PlaceOf) -> list[URLPattern]:
    """Return the URLs of searches.

    The callbacks come from the storage app, a higher layer: the CUDA version that an image needs, and the host of
    a volume.
    """
    parts = {"image_needs": image_needs, "place_of_volume": place_of_volume}
    return [
        path("offers", search_api.OffersView.as_view(**parts), name="api_offers"),
        path("offers/facets", search_api.FacetsView.as_view(**parts), name="api_offer_facets"),
    ]


def market_urlpatterns(images: Images) -> list[URLPattern]:
    """Return the URL of the market's page; `images` comes from the storage app, a higher layer."""
    return [path("market", views.market, {"images": images}, name="market")]
