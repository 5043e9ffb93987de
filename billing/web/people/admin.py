"""Staff panel of evidence that two accounts belong to one person, and its removal."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextInputWidget

from accounts.web.admin_sites import ReadOnlyAdmin, panel_user, staff_panel
from billing.models import AccountLink
from billing.people.account_links import remove_link
from billing.people.selectors import emails_sharing
from billing.staff_credit.selectors import name_of
from common.http.fields import NameField


class RemoveLinkForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Form that never edits a link; saving it with a reason removes it."""

    reason = NameField(
        label=_("Reason"),
        max_length=160,
        help_text=_("The reason is recorded with your name. The link no longer counts and can't be restored."),
        widget=UnfoldAdminTextInputWidget,
    )

    class Meta:
        model = AccountLink
        fields: ClassVar[list[str]] = []


@admin.register(AccountLink, site=staff_panel)
class AccountLinkAdmin(ReadOnlyAdmin):
    """Cards, payout accounts and teams of each user, with the accounts that share them."""

    list_display = ("owner", "kind", "value", "seen_at", "proven_at", "removed_at")
    list_filter = ("kind", ("removed_at", admin.EmptyFieldListFilter))
    list_select_related = ("owner",)
    search_fields = ("owner__email", "value")
    form = RemoveLinkForm
    readonly_fields = ("owner", "kind", "value", "seen_at", "proven_at", "shared", "removed_at", "by", "removed_reason")

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        facts = (None, {"fields": self.readonly_fields})
        action = (_("Remove this link"), {"fields": ("reason",)})
        return (facts, action) if _counts(obj) else (facts,)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return obj is None or _counts(obj)

    def save_model(self, request: HttpRequest, obj: AccountLink, form: RemoveLinkForm, change: bool) -> None:
        remove_link(link_id=obj.pk, reason=form.cleaned_data["reason"], actor=f"staff:{panel_user(request).pk.hex}")
        messages.success(request, _("Link removed"))

    @admin.display(description=_("shared with"))
    def shared(self, row: AccountLink) -> str:
        return ", ".join(emails_sharing(row)) or "–"

    @admin.display(description=_("removed by"))
    def by(self, row: AccountLink) -> str:
        return name_of(row.removed_by)


def _counts(obj: Model | None) -> bool:
    return isinstance(obj, AccountLink) and obj.removed_at is None
