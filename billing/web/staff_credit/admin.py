"""Staff panel of grants; a second person confirms or declines large ones here."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.web.admin_sites import ReadOnlyAdmin, panel_user, staff_panel
from billing.models import Grant
from billing.staff_credit.selectors import name_of
from billing.staff_credit.services import confirm_grant, decline_grant
from common.errors import DomainError
from common.money import format_money
from common.refusals import error_message


@admin.register(Grant, site=staff_panel)
class GrantAdmin(ReadOnlyAdmin):
    """Grants, newest first, with who gave each and why."""

    list_display = ("created_at", "owner", "amount", "reason", "state", "by", "second")
    list_filter = ("state",)
    list_select_related = ("owner",)
    search_fields = ("owner__email", "reason", "key")
    fields = (*list_display, "key", "settled_at")
    readonly_fields = fields
    actions = ("confirm", "decline")

    @admin.display(description=_("amount"), ordering="amount_micros")
    def amount(self, row: Grant) -> str:
        return format_money(row.amount_micros)

    @admin.display(description=_("granted by"))
    def by(self, row: Grant) -> str:
        return name_of(row.requested_by)

    @admin.display(description=_("confirmed by"))
    def second(self, row: Grant) -> str:
        return name_of(row.confirmed_by)

    @admin.action(description=_("Confirm: add the credit now"))
    def confirm(self, request: HttpRequest, rows: QuerySet[Grant]) -> None:
        _settle_each(request, rows, confirm_grant)

    @admin.action(description=_("Decline"))
    def decline(self, request: HttpRequest, rows: QuerySet[Grant]) -> None:
        _settle_each(request, rows, decline_grant)


def _settle_each(request: HttpRequest, rows: QuerySet[Grant], settle: Callable[..., Any]) -> None:
    actor = f"staff:{panel_user(request).pk.hex}"
    for grant_id in rows.values_list("pk", flat=True):
        try:
            settle(grant_id=grant_id, actor=actor)
        except DomainError as error:
            messages.error(request, error_message(error))
        else:
            messages.success(request, _("Grant processed"))
