"""Staff panel of epochs, with what happened after the backup that each began from."""

from typing import Any

from django.contrib import admin
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy as _

from accounts.web.admin_sites import ReadOnlyAdmin, staff_panel
from marketplace.hosts.epoch_selectors import hosts_to_agree, present_epoch
from marketplace.models import Epoch


@admin.register(Epoch, site=staff_panel)
class EpochAdmin(ReadOnlyAdmin):
    list_display = ("number", "reason", "backup_at", "begun_at", "found")
    fields = ("number", "reason", "backup_at", "begun_at", "waits_for", "listed")
    readonly_fields = fields

    @admin.display(description=_("found"))
    def found(self, row: Epoch) -> int:
        return len(row.findings)

    @admin.display(description=_("what happened after the backup"))
    def listed(self, row: Epoch) -> Any:
        return format_html_join(mark_safe("<br>"), "{}", ((line,) for line in row.findings)) or "–"

    @admin.display(description=_("hosts that haven't reported their contents yet"))
    def waits_for(self, row: Epoch) -> str:
        if row.number != present_epoch():
            return "–"
        return ", ".join(host.name for host in hosts_to_agree()) or "–"
