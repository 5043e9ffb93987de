"""Staff panel: agents' identities and the messages that were refused."""

from django.contrib import admin

from accounts.panels import ReadOnlyAdmin, staff_panel
from agents.gateway.models import AgentIdentity, RefusedMessage


@admin.register(AgentIdentity, site=staff_panel)
class AgentIdentityAdmin(ReadOnlyAdmin):
    list_display = ("host", "boot_id", "last_sequence", "enrolled_at", "revoked_at")
    list_select_related = ("host",)
    search_fields = ("host__name",)


@admin.register(RefusedMessage, site=staff_panel)
class RefusedMessageAdmin(ReadOnlyAdmin):
    list_display = ("at", "reason", "claimed_host", "detail", "remote_address")
    list_filter = ("reason",)
