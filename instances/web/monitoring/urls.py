"""URLs of usage, alerts and events."""

from django.urls import URLPattern, path

from instances.web.monitoring import api, metrics_api, usage_charts, views

web_urlpatterns: list[URLPattern] = [
    path("activity", views.activity, name="activity"),
    path("alerts/<alert_id>/resolve", views.alert_resolve, name="alert_resolve"),
    path("instances/<instance_id>/alerts/unmute", views.alerts_unmute, name="alerts_unmute"),
    path("instances/<instance_id>/use", usage_charts.instance_use, name="instance_use"),
]

api_urlpatterns: list[URLPattern] = [
    path("events", api.EventsOfAllView.as_view(), name="api_events"),
    path("alerts", api.AlertsView.as_view(), name="api_alerts"),
    path("alerts/<str:alert_id>/resolve", api.AlertResolveView.as_view(), name="api_alert_resolve"),
    path("instances/<str:instance_id>/metrics", metrics_api.MetricsView.as_view(), name="api_instance_metrics"),
    path("instances/<str:instance_id>/alert-rules", api.AlertRulesView.as_view(), name="api_alert_rules"),
]
