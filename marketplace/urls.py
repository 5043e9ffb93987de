"""Addresses of the market: pages, and the API below /api/v1."""

from django.urls import URLPattern, path

from marketplace import api, views

web_urlpatterns: list[URLPattern] = [
    path("", views.home, name="home"),
    path("market", views.market, name="market"),
    path("offers/<offer_id>", views.offer, name="offer"),
    path("offers/<offer_id>/price", views.offer_price, name="offer_price"),
    path("offers/<offer_id>/listing", views.offer_listing, name="offer_listing"),
    path("hosts", views.my_hosts, name="my_hosts"),
    path("hosts/become-owner", views.become_host_owner, name="become_host_owner"),
    path("hosts/enrol", views.enrol_host, name="enrol_host"),
    path("hosts/<host_id>/draining", views.host_draining, name="host_draining"),
]

api_urlpatterns: list[URLPattern] = [
    path("offers", api.OffersView.as_view(), name="api_offers"),
    path("offers/facets", api.FacetsView.as_view(), name="api_offer_facets"),
    path("offers/<str:offer_id>", api.OfferDetailView.as_view(), name="api_offer"),
    path("hosts", api.HostsView.as_view(), name="api_hosts"),
    path("hosts/<str:host_id>", api.HostView.as_view(), name="api_host"),
    path("hosts/<str:host_id>/listing", api.ListingView.as_view(), name="api_host_listing"),
    path("hosts/<str:host_id>/maintenance", api.MaintenanceView.as_view(), name="api_host_maintenance"),
    path("join-tokens", api.JoinTokensView.as_view(), name="api_join_tokens"),
]
