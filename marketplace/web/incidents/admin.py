"""Staff panel of incidents: the open ones to examine and close."""

from collections.abc import Mapping
from typing import Any, Final

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from accounts.web.admin_sites import ReadOnlyAdmin, panel_user, staff_panel
from common.errors import NotFound
from common.ids import parse_public_id
from common.messages.rendering import said
from marketplace.hosts.incidents import close_incident
from marketplace.incident_messages import CLOSERS, KINDS
from marketplace.models import Incident

# Prefix of a public id → the model in the panel. Models of higher apps are named, not imported.
_ROWS: Final[Mapping[str, str]] = {
    "host": "marketplace_host",
    "inst": "instances_instance",
    "move": "instances_move",
    "user": "accounts_user",
    "vol": "storage_volume",
}


def row_url(subject: str) -> str:
    """Return the address in the panel of the row that a subject names; "" if it names none, or there is no such page."""
    prefix = subject.partition("_")[0]
    try:
        key = parse_public_id(prefix, subject)
        return reverse(f"{staff_panel.name}:{_ROWS[prefix]}_change", args=[key])
    except (KeyError, NotFound, NoReverseMatch):
        return ""


class IncidentKindFilter(admin.SimpleListFilter):
    title = _("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        kinds = Incident.objects.order_by("kind").values_list("kind", flat=True).distinct()
        return [(kind, str(KINDS.get(kind, kind))) for kind in kinds]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Incident]) -> QuerySet[Incident]:
        return queryset.filter(kind=self.value()) if self.value() else queryset


@admin.register(Incident, site=staff_panel)
class IncidentAdmin(ReadOnlyAdmin):
    list_display = ("kind_label", "subject_link", "message_text", "opened_at", "closed_at", "closer")
    list_filter = (IncidentKindFilter, ("closed_at", admin.EmptyFieldListFilter))
    fields = ("kind_label", "subject_link", "message_text", "opened_at", "closed_at", "closer")
    readonly_fields = fields
    search_fields = ("subject", "detail")
    actions = ("close",)

    @admin.display(description=_("kind"), ordering="kind")
    def kind_label(self, row: Incident) -> str:
        return str(KINDS.get(row.kind, row.kind))

    @admin.display(description=_("subject"), ordering="subject")
    def subject_link(self, row: Incident) -> str:
        url = row_url(row.subject)
        return format_html('<a href="{}">{}</a>', url, row.subject) if url else row.subject

    @admin.display(description=_("detail"))
    def message_text(self, row: Incident) -> str:
        return said(row.message, row.detail)

    @admin.display(description=_("closed by"), ordering="closed_by")
    def closer(self, row: Incident) -> str:
        return str(CLOSERS.get(row.closed_by, row.closed_by))

    @admin.action(description=_("Close"))
    def close(self, request: HttpRequest, rows: QuerySet[Incident]) -> None:
        for incident in rows.filter(closed_at__isnull=True):
            close_incident(kind=incident.kind, subject=incident.subject, closed_by=panel_user(request).email)
            messages.success(request, f"{self.kind_label(incident)}: {incident.subject}")
