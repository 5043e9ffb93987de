"""Staff panel of users, their tokens and keys."""

from typing import ClassVar

from django.contrib import admin
from django.contrib.admin import EmptyFieldListFilter
from django.db import models
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.end_access import end_access
from accounts.event_log.messages import title_of
from accounts.models import AccountEvent, ApiToken, OutgoingMail, SshKey, User
from accounts.web.admin_sites import PanelAdmin, ReadOnlyAdmin, staff_panel
from common.email_addresses import EmailField


@admin.register(User, site=staff_panel)
class UserAdmin(PanelAdmin):
    """Users: enable or disable them, and open the host panel to them.

    Passwords are reset by mail, never set here.
    """

    list_display = ("email", "display_name", "is_host_owner", "is_staff", "is_active", "date_joined")
    list_filter = ("is_host_owner", "is_staff", "is_active")
    search_fields = ("id", "email", "display_name")
    ordering = ("-date_joined",)
    fields = ("email", "display_name", "is_host_owner", "is_active", "is_staff", "date_joined", "last_login")
    readonly_fields = ("date_joined", "last_login")
    formfield_overrides: ClassVar = {models.EmailField: {"form_class": EmailField}}

    def save_model(self, request: HttpRequest, obj: User, form: ModelForm, change: bool) -> None:  # type: ignore[type-arg]  # not generic at run time
        """Save a user; whoever is disabled or loses rights loses all sessions and tickets of the relay."""
        super().save_model(request, obj, form, change)
        if {"is_active", "is_staff"} & set(form.changed_data):
            end_access(user=obj)

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


@admin.register(AccountEvent, site=staff_panel)
class AccountEventAdmin(ReadOnlyAdmin):
    list_display = ("at", "user", "what", "subject", "via", "address")
    list_filter = ("kind",)
    list_select_related = ("user",)
    search_fields = ("user__email", "address")

    @admin.display(description=_("What"), ordering="kind")
    def what(self, row: AccountEvent) -> str:
        return str(title_of(row.kind))


@admin.register(OutgoingMail, site=staff_panel)
class OutgoingMailAdmin(ReadOnlyAdmin):
    """Mails without their bodies, which may hold a link that logs someone in."""

    list_display = ("created_at", "to", "subject", "tries", "fault", "due_at", "sent_at", "given_up_at")
    list_filter = (("sent_at", EmptyFieldListFilter), ("given_up_at", EmptyFieldListFilter))
    search_fields = ("to", "key")
    ordering = ("-created_at", "-id")
    exclude: ClassVar = ("body",)
