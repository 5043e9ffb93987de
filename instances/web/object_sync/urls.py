"""URLs of object storage: connections, syncs, schedules, archives."""

from django.urls import URLPattern, path

from instances.web.object_sync import api, views

web_urlpatterns: list[URLPattern] = [
    path("object-storage", views.object_storage, name="object_storage"),
    path("object-storage/runs", views.sync_runs, name="sync_runs"),
    path("object-storage/connections/new", views.connection_new, name="connection_new"),
    path("object-storage/connections/<connection_id>/login", views.connection_login, name="connection_login"),
    path("object-storage/connections/<connection_id>/remove", views.connection_remove, name="connection_remove"),
    path("object-storage/syncs/new", views.sync_new, name="sync_new"),
    path("object-storage/syncs/<sync_id>/cancel", views.sync_cancel, name="sync_cancel"),
    path("object-storage/schedules/<schedule_id>/remove", views.schedule_remove, name="sync_schedule_remove"),
    path("object-storage/archive", views.archive_default_set, name="archive_default_set"),
    path("instances/<instance_id>/archive", views.archive_set, name="instance_archive"),
]

api_urlpatterns: list[URLPattern] = [
    path("storage-connections", api.ConnectionsView.as_view(), name="api_connections"),
    path("storage-connections/<str:connection_id>", api.ConnectionView.as_view(), name="api_connection"),
    path("syncs", api.SyncsView.as_view(), name="api_syncs"),
    path("syncs/<str:sync_id>", api.SyncView.as_view(), name="api_sync"),
    path("syncs/<str:sync_id>/cancel", api.SyncCancelView.as_view(), name="api_sync_cancel"),
    path("volumes/<str:volume_id>/syncs", api.VolumeSyncsView.as_view(), name="api_volume_syncs"),
    path("instances/<str:instance_id>/syncs", api.InstanceSyncsView.as_view(), name="api_instance_syncs"),
    path("sync-schedules", api.SyncSchedulesView.as_view(), name="api_sync_schedules"),
    path("sync-schedules/<str:schedule_id>", api.SyncScheduleView.as_view(), name="api_sync_schedule"),
    path("instances/<str:instance_id>/archive", api.InstanceArchiveView.as_view(), name="api_instance_archive"),
    path("archive-default", api.ArchiveDefaultView.as_view(), name="api_archive_default"),
]
