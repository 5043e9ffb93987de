"""Staff panel of images, and of volumes, snapshots, public data sets and transfers, for reading only."""

from django.contrib import admin

from accounts.web.admin_sites import PanelAdmin, ReadOnlyAdmin, staff_panel
from storage.models import DataSet, Image, Snapshot, Volume, VolumeMove


@admin.register(Image, site=staff_panel)
class ImageAdmin(PanelAdmin):
    list_display = ("title", "reference", "cuda", "official", "active")
    list_filter = ("official", "active")
    readonly_fields = ("created_at", "state", "generation", "owner", "source", "shared", "version", "use_count", "registry")

    def has_delete_permission(self, request: object, obj: object = None) -> bool:
        return False


@admin.register(Volume, site=staff_panel)
class VolumeAdmin(ReadOnlyAdmin):
    list_display = ("name", "owner", "host", "size_gb", "state", "created_at", "unpaid_since")
    list_filter = ("state",)
    search_fields = ("id", "name", "owner__email")
    list_select_related = ("owner", "host")


@admin.register(Snapshot, site=staff_panel)
class SnapshotAdmin(ReadOnlyAdmin):
    list_display = ("name", "owner", "host", "source_name", "stored_bytes", "state", "ready_at", "unpaid_since")
    list_filter = ("state", "source_kind")
    search_fields = ("id", "name", "owner__email", "checksum")
    list_select_related = ("owner", "host")


@admin.register(DataSet, site=staff_panel)
class DataSetAdmin(ReadOnlyAdmin):
    list_display = ("title", "slug", "snapshot", "published_by", "published_at", "active")
    list_filter = ("active",)
    list_select_related = ("snapshot", "published_by")


@admin.register(VolumeMove, site=staff_panel)
class VolumeMoveAdmin(ReadOnlyAdmin):
    list_display = ("source", "kind", "owner", "from_host", "to_host", "state", "created_at", "ended_at", "failure_code")
    list_filter = ("kind", "state")
    search_fields = ("source__name", "owner__email")
    list_select_related = ("source", "owner", "from_host", "to_host")
