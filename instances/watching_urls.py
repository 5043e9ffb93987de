"""Addresses of watching: use over time, alerts, everything that happened."""

from django.urls import URLPattern, path

from instances import metrics_api, use_console, watching_api, watching_views

web_urlpatterns: list[URLPattern] = [
    path("activity", watching_views.activity, name="activity"),
    path("alerts/<alert_id>/resolve", watching_views.alert_resolve, name="alert_resolve"),
    path("instances/<instance_id>/alerts/unmute", watching_views.alerts_unmute, name="alerts_unmute"),
    path("instances/<instance_id>/use", use_console.instance_use, name="instance_use"),
]

api_urlpatterns: list[URLPattern] = [
    path("events", watching_api.EventsOfAllView.as_view(), name="api_events"),
    path("alerts", watching_api.AlertsView.as_view(), name="api_alerts"),
    path("alerts/<str:alert_id>/resolve", watching_api.AlertResolveView.as_view(), name="api_alert_resolve"),
    path("instances/<str:instance_id>/metrics", metrics_api.MetricsView.as_view(), name="api_instance_metrics"),
    path("instances/<str:instance_id>/alert-rules", watching_api.AlertRulesView.as_view(), name="api_alert_rules"),
]
