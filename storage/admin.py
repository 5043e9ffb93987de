"""Staff panel of the images that renters may choose."""

from django.contrib import admin
from unfold.admin import ModelAdmin

from accounts.web.admin_sites import staff_panel
from storage.models import Image
from storage.web.volumes import admin as volume_admin  # noqa: F401  registers volumes, snapshots and public data sets


@admin.register(Image, site=staff_panel)
class ImageAdmin(ModelAdmin):  # type: ignore[misc]  # unfold has no type information
    list_display = ("title", "reference", "cuda", "official", "active")
    list_filter = ("official", "active")
    readonly_fields = ("created_at", "state", "generation", "owner", "source", "shared", "version", "use_count", "registry")

    def has_delete_permission(self, request: object, obj: object = None) -> bool:
        return False
