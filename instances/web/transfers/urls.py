"""URLs of clones and migrations: pages, and the API below /api/v1."""

from django.urls import URLPattern, path, re_path

from instances.web.transfers import api, views

web_urlpatterns: list[URLPattern] = [
    re_path(r"^instances/(?P<instance_id>[^/]+)/(?P<verb>clone|migrate)$", views.instance_move, name="instance_move"),
    re_path(
        r"^instances/(?P<instance_id>[^/]+)/(?P<verb>clone|migrate)/quote$",
        views.instance_move_quote,
        name="instance_move_quote",
    ),
    path("instances/<instance_id>/cancel-move", views.instance_move_cancel, name="instance_move_cancel"),
]

api_urlpatterns: list[URLPattern] = [
    path("instances/<str:instance_id>/clone", api.CloneView.as_view(), name="api_instance_clone"),
    path("instances/<str:instance_id>/migrate", api.MigrateView.as_view(), name="api_instance_migrate"),
    path("instances/<str:instance_id>/cancel-move", api.CancelMoveView.as_view(), name="api_instance_cancel_move"),
    path("instances/<str:instance_id>/moves", api.MovesView.as_view(), name="api_instance_moves"),
]
