"""Staff panel of write-offs and epochs.

A write-off needs the host's name, a reason and a recent login confirmation.
"""

from typing import Any, ClassVar

from allauth.account.internal.flows.reauthentication import did_recently_reauthenticate
from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.http import urlencode
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from accounts.web.admin_sites import ReadOnlyAdmin, panel_user, staff_panel
from common import clock
from common.http.fields import NameField
from marketplace.constants import WRITE_OFF_REASON_CHARS
from marketplace.hosts.epochs import hosts_to_agree, present_epoch
from marketplace.hosts.write_offs import hosts_not_retired, write_off_host
from marketplace.models import Epoch, Host, HostWriteOff


class WriteOffForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Form of a write-off; the host's name is typed as well, so that a click alone is not enough."""

    host = forms.ModelChoiceField(
        label=_("host"),
        queryset=hosts_not_retired(),
        widget=UnfoldAdminSelectWidget,
    )
    host_name = NameField(label=_("Type the host's name to confirm"), max_length=80, widget=UnfoldAdminTextInputWidget)
    why = NameField(label=_("Reason"), min_length=WRITE_OFF_REASON_CHARS, max_length=300, widget=UnfoldAdminTextInputWidget)

    class Meta:
        model = HostWriteOff
        fields: ClassVar[list[str]] = ["host"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        host = cleaned.get("host")
        if host is not None and cleaned.get("host_name") != host.name:
            self.add_error("host_name", _("This doesn't match the chosen host's name."))
        return cleaned


@admin.register(HostWriteOff, site=staff_panel)
class HostWriteOffAdmin(ReadOnlyAdmin):
    """Log of all write-offs; adding one writes a host off."""

    form = WriteOffForm
    list_display = ("host", "decided_by", "reason", "last_seen_at", "at", "settled_at")
    list_select_related = ("host", "decided_by")
    search_fields = ("host__name", "host__id", "reason")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return True

    def get_fields(self, request: HttpRequest, obj: HostWriteOff | None = None) -> Any:
        return ("host", "host_name", "why") if obj is None else self.list_display

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        if object_id is None and not did_recently_reauthenticate(request):
            messages.warning(request, _("Confirm your identity first."))
            return HttpResponseRedirect(f"{reverse('account_reauthenticate')}?{urlencode({'next': request.path})}")
        return super().changeform_view(request, object_id, form_url, extra_context)

    def save_model(self, request: HttpRequest, obj: HostWriteOff, form: WriteOffForm, change: bool) -> None:
        chosen: Host = form.cleaned_data["host"]
        written = write_off_host(
            staff=panel_user(request), host_id=chosen.pk, reason=form.cleaned_data["why"], now=clock.now()
        )
        obj.__dict__.update(written.__dict__)
        messages.warning(request, _("Host written off. Its instances end now, and their renters are notified."))

    def response_add(self, request: HttpRequest, obj: HostWriteOff, post_url_continue: str | None = None) -> Any:
        return redirect("admin:marketplace_hostwriteoff_changelist")


@admin.register(Epoch, site=staff_panel)
class EpochAdmin(ReadOnlyAdmin):
    list_display = ("number", "reason", "backup_at", "begun_at", "found")
    fields = ("number", "reason", "backup_at", "begun_at", "waits_for", "listed")
    readonly_fields = fields

    @admin.display(description=_("found"))
    def found(self, row: Epoch) -> int:
        return len(row.findings)

    @admin.display(description=_("changes since the backup"))
    def listed(self, row: Epoch) -> Any:
        return format_html_join(mark_safe("<br>"), "{}", ((line,) for line in row.findings)) or "–"

    @admin.display(description=_("hosts that haven't reported their contents yet"))
    def waits_for(self, row: Epoch) -> str:
        if row.number != present_epoch():
            return "–"
        return ", ".join(host.name for host in hosts_to_agree()) or "–"
