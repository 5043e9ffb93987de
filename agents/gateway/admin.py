"""Staff panel pages of the agents' identities and of refused messages."""

from datetime import datetime

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from accounts.web.admin_sites import ReadOnlyAdmin, staff_panel
from agents.gateway.models import AgentIdentity, RefusedMessage


@admin.register(AgentIdentity, site=staff_panel)
class AgentIdentityAdmin(ReadOnlyAdmin):
    list_display = ("host", "boot_id", "last_sequence", "enrolled_at", "revoked_at")
    list_select_related = ("host",)
    search_fields = ("host__name",)

    @admin.display(description=_("revoked"), ordering="host__agent_revoked_at")
    def revoked_at(self, row: AgentIdentity) -> datetime | None:
        return row.host.agent_revoked_at


@admin.register(RefusedMessage, site=staff_panel)
class RefusedMessageAdmin(ReadOnlyAdmin):
    list_display = ("at", "reason", "claimed_host", "detail", "remote_address")
    list_filter = ("reason",)
