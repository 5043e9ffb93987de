"""URLs of volumes, snapshots and public data sets."""

from django.urls import URLPattern, path

from instances.web.volumes import api, transfer_api, transfer_views, views

web_urlpatterns: list[URLPattern] = [
    path("volumes", views.volumes, name="volumes"),
    path("volumes/new", views.volume_new, name="volume_new"),
    path("volumes/<volume_id>/delete", views.volume_delete, name="volume_delete"),
    path("volumes/<volume_id>/attach", views.volume_attach, name="volume_attach"),
    path("volumes/<volume_id>/detach", views.volume_detach, name="volume_detach"),
    path("volumes/<volume_id>/resize", transfer_views.volume_resize, name="volume_resize"),
    path("volumes/<volume_id>/travel", transfer_views.volume_travel, name="volume_travel"),
    path("volumes/<volume_id>/cancel-move", transfer_views.volume_cancel_move, name="volume_cancel_move"),
    path("snapshots", views.snapshots, name="snapshots"),
    path("snapshots/new", views.snapshot_new, name="snapshot_new"),
    path("snapshots/<snapshot_id>/delete", views.snapshot_delete, name="snapshot_delete"),
    path("snapshots/<snapshot_id>/restore", views.snapshot_restore, name="snapshot_restore"),
    path("public-data", views.public_data, name="public_data"),
    path("public-data/new", views.data_set_new, name="data_set_new"),
    path("public-data/<slug>/withdraw", views.data_set_withdraw, name="data_set_withdraw"),
    path("public-data/<slug>/attach", views.data_set_attach, name="data_set_attach"),
    path("public-data/<slug>/detach", views.data_set_detach, name="data_set_detach"),
    path("instances/<instance_id>/disks", views.instance_disks, name="instance_disks"),
]

api_urlpatterns: list[URLPattern] = [
    path("storage-hosts", api.StorageHostsView.as_view(), name="api_storage_hosts"),
    path("volumes", api.VolumesView.as_view(), name="api_volumes"),
    path("volumes/<str:volume_id>", api.VolumeView.as_view(), name="api_volume"),
    path("volumes/<str:volume_id>/attach", api.VolumeAttachView.as_view(), name="api_volume_attach"),
    path("volumes/<str:volume_id>/detach", api.VolumeDetachView.as_view(), name="api_volume_detach"),
    path("volumes/<str:volume_id>/resize", transfer_api.VolumeResizeView.as_view(), name="api_volume_resize"),
    path("volumes/<str:volume_id>/move", transfer_api.VolumeMoveView.as_view(), name="api_volume_move"),
    path("volumes/<str:volume_id>/copy", transfer_api.VolumeCopyView.as_view(), name="api_volume_copy"),
    path("volumes/<str:volume_id>/cancel-move", transfer_api.VolumeCancelMoveView.as_view(), name="api_volume_cancel_move"),
    path("volumes/<str:volume_id>/moves", transfer_api.VolumeMovesView.as_view(), name="api_volume_moves"),
    path("snapshots", api.SnapshotsView.as_view(), name="api_snapshots"),
    path("snapshots/<str:snapshot_id>", api.SnapshotView.as_view(), name="api_snapshot"),
    path("snapshots/<str:snapshot_id>/restore", api.SnapshotRestoreView.as_view(), name="api_snapshot_restore"),
    path("datasets", api.DataSetsView.as_view(), name="api_data_sets"),
    path("datasets/<str:slug>", api.DataSetView.as_view(), name="api_data_set"),
    path("datasets/<str:slug>/attach", api.DataSetAttachView.as_view(), name="api_data_set_attach"),
    path("datasets/<str:slug>/detach", api.DataSetDetachView.as_view(), name="api_data_set_detach"),
    path("instances/<str:instance_id>/storage", api.InstanceStorageView.as_view(), name="api_instance_storage"),
]
