"""Addresses of object storage: connections, syncs, schedules, archives."""

from django.urls import URLPattern, path

from instances import sync_api, sync_views

web_urlpatterns: list[URLPattern] = [
    path("object-storage", sync_views.object_storage, name="object_storage"),
    path("object-storage/runs", sync_views.sync_runs, name="sync_runs"),
    path("object-storage/connections/new", sync_views.connection_new, name="connection_new"),
    path("object-storage/connections/<connection_id>/login", sync_views.connection_login, name="connection_login"),
    path("object-storage/connections/<connection_id>/remove", sync_views.connection_remove, name="connection_remove"),
    path("object-storage/syncs/new", sync_views.sync_new, name="sync_new"),
    path("object-storage/syncs/<sync_id>/cancel", sync_views.sync_cancel, name="sync_cancel"),
    path("object-storage/schedules/<schedule_id>/remove", sync_views.schedule_remove, name="sync_schedule_remove"),
    path("object-storage/archive", sync_views.archive_default_set, name="archive_default_set"),
    path("instances/<instance_id>/archive", sync_views.archive_set, name="instance_archive"),
]

api_urlpatterns: list[URLPattern] = [
    path("storage-connections", sync_api.ConnectionsView.as_view(), name="api_connections"),
    path("storage-connections/<str:connection_id>", sync_api.ConnectionView.as_view(), name="api_connection"),
    path("syncs", sync_api.SyncsView.as_view(), name="api_syncs"),
    path("syncs/<str:sync_id>", sync_api.SyncView.as_view(), name="api_sync"),
    path("syncs/<str:sync_id>/cancel", sync_api.SyncCancelView.as_view(), name="api_sync_cancel"),
    path("volumes/<str:volume_id>/syncs", sync_api.VolumeSyncsView.as_view(), name="api_volume_syncs"),
    path("instances/<str:instance_id>/syncs", sync_api.InstanceSyncsView.as_view(), name="api_instance_syncs"),
    path("sync-schedules", sync_api.SyncSchedulesView.as_view(), name="api_sync_schedules"),
    path("sync-schedules/<str:schedule_id>", sync_api.SyncScheduleView.as_view(), name="api_sync_schedule"),
    path("instances/<str:instance_id>/archive", sync_api.InstanceArchiveView.as_view(), name="api_instance_archive"),
    path("archive-default", sync_api.ArchiveDefaultView.as_view(), name="api_archive_default"),
]
