"""Staff panel: users, their tokens and keys."""

from typing import ClassVar

from django.contrib import admin
from unfold.admin import ModelAdmin

from accounts.models import ApiToken, SshKey, User
from accounts.panels import ReadOnlyAdmin, staff_panel


@admin.register(User, site=staff_panel)
class UserAdmin(ModelAdmin):  # type: ignore[misc]  # unfold has no type information
    """Switch a person on or off, open the host panel to them. Passwords are reset by mail, never set here."""

    list_display = ("email", "display_name", "is_host_owner", "is_staff", "is_active", "date_joined")
    list_filter = ("is_host_owner", "is_staff", "is_active")
    search_fields = ("email", "display_name")
    ordering = ("-date_joined",)
    fields = ("email", "display_name", "is_host_owner", "is_active", "is_staff", "date_joined", "last_login")
    readonly_fields = ("date_joined", "last_login")

    def has_add_permission(self, request: object) -> bool:
        return False

    def has_delete_permission(self, request: object, obj: object = None) -> bool:
        return False


@admin.register(ApiToken, site=staff_panel)
class ApiTokenAdmin(ReadOnlyAdmin):
    list_display = ("prefix", "name", "user", "scopes", "last_used_at", "expires_at", "revoked_at")
    search_fields = ("prefix", "user__email")
    exclude: ClassVar = ("secret_hash",)


@admin.register(SshKey, site=staff_panel)
class SshKeyAdmin(ReadOnlyAdmin):
    list_display = ("fingerprint", "name", "kind", "user", "created_at")
    search_fields = ("fingerprint", "user__email")
