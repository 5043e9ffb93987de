"""Panel pages of the public reliability ledger, and of announced maintenance."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.web.admin_sites import OwnRowsAdmin, ReadOnlyAdmin, host_panel, panel_user, staff_panel
from common.errors import DomainError
from common.refusals import error_message
from marketplace.hosts.maintenance import announce_maintenance, cancel_maintenance
from marketplace.hosts.selectors import hosts_of
from marketplace.models import Maintenance, ReliabilityEvent


@admin.register(ReliabilityEvent, site=staff_panel)
class ReliabilityEventAdmin(ReadOnlyAdmin):
    list_display = ("kind", "host", "starts_at", "ends_at", "detail")
    list_filter = ("kind",)
    list_select_related = ("host",)
    search_fields = ("host__name", "host__id")


@admin.register(ReliabilityEvent, site=host_panel)
class OwnReliabilityEventAdmin(OwnRowsAdmin):
    """The owner's entries in the public ledger."""

    owner_path = "host__owner"
    list_display = ("kind", "host", "starts_at", "ends_at", "detail")
    list_filter = ("kind",)
    list_select_related = ("host",)
    fields = list_display
    readonly_fields = fields


@admin.register(Maintenance, site=staff_panel)
class MaintenanceAdmin(ReadOnlyAdmin):
    list_display = ("host", "category", "starts_at", "ends_at", "announced_at", "cancelled_at", "detail")
    list_filter = ("category",)
    list_select_related = ("host",)


class MaintenanceForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    class Meta:
        model = Maintenance
        fields: ClassVar[list[str]] = ["host", "category", "starts_at", "ends_at", "detail"]


@admin.register(Maintenance, site=host_panel)
class OwnMaintenanceAdmin(OwnRowsAdmin):
    """Announced maintenance of the owner's hosts; times are in UTC."""

    owner_path = "host__owner"
    form = MaintenanceForm
    list_display = ("host", "category", "starts_at", "ends_at", "cancelled_at", "detail")
    list_select_related = ("host",)
    fields = ("host", "category", "starts_at", "ends_at", "detail")
    ordering = ("-starts_at",)
    actions = ("cancel",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return True

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Limit the choices to the owner's hosts."""
        own = {"queryset": hosts_of(panel_user(request).pk)}
        return super().formfield_for_foreignkey(db_field, request, **{**kwargs, **own})

    def save_model(self, request: HttpRequest, obj: Maintenance, form: MaintenanceForm, change: bool) -> None:
        wanted = {**form.cleaned_data, "host_id": form.cleaned_data["host"].pk}
        del wanted["host"]
        obj.__dict__.update(announce_maintenance(actor_id=panel_user(request).pk, **wanted).__dict__)

    @admin.action(description=_("Cancel"))
    def cancel(self, request: HttpRequest, rows: QuerySet[Maintenance]) -> None:
        for row in rows:
            try:
                cancel_maintenance(actor_id=panel_user(request).pk, host_id=row.host_id, maintenance_id=row.pk)
            except DomainError as error:
                messages.error(request, f"{row}: {error_message(error)}")
            else:
                messages.success(request, str(row))
