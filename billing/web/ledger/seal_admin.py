"""Staff panel of the ledger's audits, nightly or on request, with their findings, and of the seals."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Model
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.web.admin_sites import ReadOnlyAdmin, panel_user, staff_panel
from billing.audit.services import audit_ledger
from billing.models import LedgerAudit, Seal
from common.money import format_money


@admin.register(LedgerAudit, site=staff_panel)
class LedgerAuditAdmin(ReadOnlyAdmin):
    """Audits, newest first; adding one checks the ledger now."""

    list_display = ("started_at", "verdict", "asked_by", "seal_number", "granted", "took_ms")
    fields = ("started_at", "asked_by", "took_ms", "verdict", "seal_number", "head", "granted", "found")
    readonly_fields = fields
    ordering = ("-started_at",)

    @admin.display(description=_("result"))
    def verdict(self, row: LedgerAudit) -> str:
        if row.count == 0:
            return str(_("The ledger is consistent"))
        return ngettext("%(count)d finding", "%(count)d findings", row.count) % {"count": row.count}

    @admin.display(description=_("grants"))
    def granted(self, row: LedgerAudit) -> str:
        return f"{format_money(row.granted_micros)} ({row.grants})"

    @admin.display(description=_("findings"))
    def found(self, row: LedgerAudit) -> SafeString | str:
        lines = [(one["code"], one["subject"], one["detail"], one["says"]) for one in row.findings]
        return format_html_join("", "<p><b>{} {}</b>: {}<br>{}</p>", lines) if lines else "–"

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return () if obj is None else self.readonly_fields

    def has_add_permission(self, request: HttpRequest) -> bool:
        return True

    def save_model(self, request: HttpRequest, obj: LedgerAudit, form: Any, change: bool) -> None:
        run, findings = audit_ledger(asked_by=f"staff:{panel_user(request).pk.hex}")
        for field in LedgerAudit._meta.fields:
            setattr(obj, field.attname, getattr(run, field.attname))
        if findings:
            messages.error(request, _("The ledger is inconsistent. See the findings."))


@admin.register(Seal, site=staff_panel)
class SealAdmin(ReadOnlyAdmin):
    """The hash chain, newest first."""

    list_display = ("number", "sealed_at", "upto", "postings", "entries", "usage_rows", "head")
    ordering = ("-number",)
    fields = (*list_display, "after", "body", "previous")
    readonly_fields = fields
