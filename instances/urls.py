"""Addresses of instances: pages, and the API below /api/v1."""

from django.urls import URLPattern, path, re_path

from instances import api, estimate_api, views

web_urlpatterns: list[URLPattern] = [
    path("calculator", views.calculator, name="calculator"),
    path("offers/<offer_id>/rent", views.rent, name="rent"),
    path("offers/<offer_id>/rent/quote", views.rent_quote, name="rent_quote"),
    path("offers/<offer_id>/rent/key", views.rent_key, name="rent_key"),
    path("instances", views.instances, name="instances"),
    path("watches", views.watches, name="watches"),
    path("watches/new", views.watch_new, name="watch_new"),
    path("watches/preview", views.watch_preview, name="watch_preview"),
    path("watches/<watch_id>/cancel", views.watch_cancel, name="watch_cancel"),
    path("instances/<instance_id>", views.instance, name="instance"),
    path("instances/<instance_id>/use", views.instance_use, name="instance_use"),
    path("instances/<instance_id>/rename", views.instance_rename, name="instance_rename"),
    re_path(
        r"^instances/(?P<instance_id>[^/]+)/(?P<verb>start|stop|restart|release)$", views.instance_act, name="instance_act"
    ),
]

api_urlpatterns: list[URLPattern] = [
    path("estimates", estimate_api.EstimatesView.as_view(), name="api_estimates"),
    path("quotes", api.QuotesView.as_view(), name="api_quotes"),
    path("quotes/<str:quote_id>", api.QuoteView.as_view(), name="api_quote"),
    path("instances", api.InstancesView.as_view(), name="api_instances"),
    path("instances/<str:instance_id>", api.InstanceView.as_view(), name="api_instance"),
    path("instances/<str:instance_id>/start", api.StartView.as_view(), name="api_instance_start"),
    path("instances/<str:instance_id>/stop", api.StopView.as_view(), name="api_instance_stop"),
    path("instances/<str:instance_id>/restart", api.RestartView.as_view(), name="api_instance_restart"),
    path("instances/<str:instance_id>/events", api.EventsView.as_view(), name="api_instance_events"),
    path("instances/<str:instance_id>/metrics", api.MetricsView.as_view(), name="api_instance_metrics"),
    path("instances/<str:instance_id>/usage", api.UsageView.as_view(), name="api_instance_usage"),
    path("watches", api.WatchesView.as_view(), name="api_watches"),
    path("watches/<str:watch_id>", api.WatchView.as_view(), name="api_watch"),
    path("instances/<str:instance_id>/access", api.AccessView.as_view(), name="api_instance_access"),
]
