"""Staff panel of wallets (with credit grants), ledger, holds and meters."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminDecimalFieldWidget, UnfoldAdminTextInputWidget

from accounts.web.admin_sites import ReadOnlyAdmin, ReadOnlyInline, panel_user, staff_panel
from billing.ledger_label_translations import ledger_label
from billing.models import Entry, Grant, Hold, Meter, Posting, Wallet
from billing.staff_credit.services import request_grant
from billing.web.invoices import admin as invoices_admin  # noqa: F401
from billing.web.ledger import seal_admin  # noqa: F401
from billing.web.payments import admin as payments_admin  # noqa: F401
from billing.web.payouts import admin as payouts_admin
from billing.web.people import admin as people_admin  # noqa: F401
from billing.web.staff_credit import admin as staff_credit_admin  # noqa: F401  (registers its models)
from common.http.fields import NameField, PlainDecimalField
from common.ids import new_uuid
from common.money import format_money, parse_money


class WalletForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Form that never edits a wallet; saving it with an amount grants credit by a posting."""

    amount = PlainDecimalField(
        label=_("Add credit"),
        min_value=0,
        max_digits=14,
        decimal_places=6,
        required=False,
        widget=UnfoldAdminDecimalFieldWidget,
    )
    memo = NameField(label=_("Reason"), max_length=160, required=False, widget=UnfoldAdminTextInputWidget)
    key = forms.CharField(widget=forms.HiddenInput, initial=lambda: new_uuid().hex)

    class Meta:
        model = Wallet
        fields: ClassVar[list[str]] = []

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("amount") and not cleaned.get("memo"):
            self.add_error("memo", _("Enter a reason. The renter sees it on the statement."))
        return cleaned


@admin.register(Wallet, site=staff_panel)
class WalletAdmin(ReadOnlyAdmin):
    list_display = ("owner", "kind", "balance", "held", "spendable", "created_at")
    list_filter = ("kind", payouts_admin.BelowZero)
    list_select_related = ("owner",)
    search_fields = ("owner__email", "id")
    form = WalletForm
    readonly_fields = ("owner", "kind", "balance", "held", "spendable", "created_at")

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        facts = (None, {"fields": self.readonly_fields})
        return (facts, (_("Credit"), {"fields": ("amount", "memo", "key")})) if self._grants(obj) else (facts,)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return obj is None or self._grants(obj)

    def save_model(self, request: HttpRequest, obj: Wallet, form: WalletForm, change: bool) -> None:
        amount = form.cleaned_data.get("amount")
        if amount and obj.owner_id:
            staff = panel_user(request)
            grant = request_grant(
                owner_id=obj.owner_id,
                amount_micros=parse_money(f"{amount:f}"),
                actor=f"staff:{staff.pk.hex}",
                key=f"staff-grant:{form.cleaned_data['key']}",
                reason=form.cleaned_data["memo"],
            )
            if grant.state == Grant.State.PENDING:
                messages.warning(request, _("A second staff member must confirm this grant. See Grants."))
            else:
                messages.success(request, _("Credit added."))

    @staticmethod
    def _grants(obj: Model | None) -> bool:
        return isinstance(obj, Wallet) and obj.kind == Wallet.Kind.RENTER

    @admin.display(description=_("balance"), ordering="balance_micros")
    def balance(self, row: Wallet) -> str:
        return format_money(row.balance_micros)

    @admin.display(description=_("held"), ordering="held_micros")
    def held(self, row: Wallet) -> str:
        return format_money(row.held_micros)

    @admin.display(description=_("spendable"))
    def spendable(self, row: Wallet) -> str:
        return format_money(row.spendable_micros)


class EntryInline(ReadOnlyInline):
    model = Entry
    fields = ("wallet", "kind", "amount")
    readonly_fields = fields

    @admin.display(description=_("amount"))
    def amount(self, row: Entry) -> str:
        return format_money(row.amount_micros)


@admin.register(Posting, site=staff_panel)
class PostingAdmin(ReadOnlyAdmin):
    list_display = ("id", "kind", "what", "source_kind", "source_id", "period_from", "period_to", "actor", "created_at")
    list_filter = ("kind",)
    search_fields = ("idempotency_key", "source_id")
    inlines = (EntryInline,)
    exclude: ClassVar = ("memo",)
    readonly_fields = ("what",)

    @admin.display(description=_("memo"))
    def what(self, row: Posting) -> str:
        return ledger_label(row.memo)


@admin.register(Meter, site=staff_panel)
class MeterAdmin(ReadOnlyAdmin):
    list_display = ("what", "source_id", "rate", "opened_at", "proven_until", "funded_until", "settled_until", "closed_at")
    search_fields = ("source_id",)
    exclude: ClassVar = ("label",)
    readonly_fields = ("what",)

    @admin.display(description=_("label"))
    def what(self, row: Meter) -> str:
        return ledger_label(row.label)

    @admin.display(description=_("rate"))
    def rate(self, row: Meter) -> str:
        return format_money(row.rate_micros) + (f" / {row.rate_hours} h" if row.rate_hours > 1 else "")


@admin.register(Hold, site=staff_panel)
class HoldAdmin(ReadOnlyAdmin):
    list_display = ("wallet", "source_kind", "source_id", "amount", "created_at", "released_at")
    search_fields = ("source_id",)

    @admin.display(description=_("amount"))
    def amount(self, row: Hold) -> str:
        return format_money(row.amount_micros)
