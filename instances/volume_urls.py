"""Addresses of volumes, snapshots and public data sets."""

from django.urls import URLPattern, path

from instances import volume_api, volume_move_api, volume_move_views, volume_views

web_urlpatterns: list[URLPattern] = [
    path("volumes", volume_views.volumes, name="volumes"),
    path("volumes/new", volume_views.volume_new, name="volume_new"),
    path("volumes/<volume_id>/delete", volume_views.volume_delete, name="volume_delete"),
    path("volumes/<volume_id>/attach", volume_views.volume_attach, name="volume_attach"),
    path("volumes/<volume_id>/detach", volume_views.volume_detach, name="volume_detach"),
    path("volumes/<volume_id>/resize", volume_move_views.volume_resize, name="volume_resize"),
    path("volumes/<volume_id>/travel", volume_move_views.volume_travel, name="volume_travel"),
    path("volumes/<volume_id>/cancel-move", volume_move_views.volume_cancel_move, name="volume_cancel_move"),
    path("snapshots", volume_views.snapshots, name="snapshots"),
    path("snapshots/new", volume_views.snapshot_new, name="snapshot_new"),
    path("snapshots/<snapshot_id>/delete", volume_views.snapshot_delete, name="snapshot_delete"),
    path("snapshots/<snapshot_id>/restore", volume_views.snapshot_restore, name="snapshot_restore"),
    path("public-data", volume_views.public_data, name="public_data"),
    path("public-data/new", volume_views.data_set_new, name="data_set_new"),
    path("public-data/<slug>/withdraw", volume_views.data_set_withdraw, name="data_set_withdraw"),
    path("public-data/<slug>/attach", volume_views.data_set_attach, name="data_set_attach"),
    path("public-data/<slug>/detach", volume_views.data_set_detach, name="data_set_detach"),
    path("instances/<instance_id>/disks", volume_views.instance_disks, name="instance_disks"),
]

api_urlpatterns: list[URLPattern] = [
    path("storage-hosts", volume_api.StorageHostsView.as_view(), name="api_storage_hosts"),
    path("volumes", volume_api.VolumesView.as_view(), name="api_volumes"),
    path("volumes/<str:volume_id>", volume_api.VolumeView.as_view(), name="api_volume"),
    path("volumes/<str:volume_id>/attach", volume_api.VolumeAttachView.as_view(), name="api_volume_attach"),
    path("volumes/<str:volume_id>/detach", volume_api.VolumeDetachView.as_view(), name="api_volume_detach"),
    path("volumes/<str:volume_id>/resize", volume_move_api.VolumeResizeView.as_view(), name="api_volume_resize"),
    path("volumes/<str:volume_id>/move", volume_move_api.VolumeMoveView.as_view(), name="api_volume_move"),
    path("volumes/<str:volume_id>/copy", volume_move_api.VolumeCopyView.as_view(), name="api_volume_copy"),
    path(
        "volumes/<str:volume_id>/cancel-move", volume_move_api.VolumeCancelMoveView.as_view(), name="api_volume_cancel_move"
    ),
    path("volumes/<str:volume_id>/moves", volume_move_api.VolumeMovesView.as_view(), name="api_volume_moves"),
    path("snapshots", volume_api.SnapshotsView.as_view(), name="api_snapshots"),
    path("snapshots/<str:snapshot_id>", volume_api.SnapshotView.as_view(), name="api_snapshot"),
    path("snapshots/<str:snapshot_id>/restore", volume_api.SnapshotRestoreView.as_view(), name="api_snapshot_restore"),
    path("datasets", volume_api.DataSetsView.as_view(), name="api_data_sets"),
    path("datasets/<str:slug>", volume_api.DataSetView.as_view(), name="api_data_set"),
    path("datasets/<str:slug>/attach", volume_api.DataSetAttachView.as_view(), name="api_data_set_attach"),
    path("datasets/<str:slug>/detach", volume_api.DataSetDetachView.as_view(), name="api_data_set_detach"),
    path("instances/<str:instance_id>/storage", volume_api.InstanceStorageView.as_view(), name="api_instance_storage"),
]
