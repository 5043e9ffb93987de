"""Panels of payouts: staff export, confirm, return and freeze them; a host owner sees their own."""

from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget, UnfoldBooleanSwitchWidget

from accounts.web.admin_sites import OwnRowsAdmin, ReadOnlyAdmin, host_panel, panel_user, staff_panel
from billing.ledger_label_translations import ledger_label
from billing.models import Payout, PayoutAccount, PayoutMethod, Usage, Wallet
from billing.payouts.accounts import freeze_payouts, unfreeze_payouts
from billing.payouts.bank_export import bank_csv, confirm_payout, export_batch, return_payout
from billing.payouts.selectors import bank_batch
from billing.payouts.transfers import check_transfer
from common.errors import DomainError
from common.http.fields import NameField
from common.money import format_money
from common.refusals import error_message

_FACTS = (
    "owner",
    "method",
    "amount",
    "state",
    "goes_to",
    "created_at",
    "requested_by",
    "matured_until",
    "batch",
    "sent_at",
    "reference",
    "settled_at",
    "settled_by",
    "failure",
)


class PayoutShown:
    """Columns shared by both panels."""

    @admin.display(description=_("amount"), ordering="amount_micros")
    def amount(self, row: Payout) -> str:
        return format_money(row.amount_micros)

    @admin.display(description=_("to"))
    def goes_to(self, row: Payout) -> str:
        return f"{row.get_method_display()} …{row.ending}"


class OutcomeForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Outcome of a payout; saving it changes the payout's state."""

    outcome = forms.ChoiceField(
        label=_("Outcome"),
        required=False,
        choices=[("", "–"), ("paid", _("paid")), ("failed", _("failed: return the money to earnings"))],
        widget=UnfoldAdminSelectWidget,
    )
    note = NameField(
        label=_("Bank reference, or reason for failure"), max_length=100, required=False, widget=UnfoldAdminTextInputWidget
    )

    class Meta:
        model = Payout
        fields: ClassVar[list[str]] = []


@admin.register(Payout, site=staff_panel)
class PayoutAdmin(PayoutShown, ReadOnlyAdmin):
    list_display = ("created_at", "owner", "goes_to", "amount", "state", "batch", "reference", "failure")
    list_filter = ("state", "method")
    list_select_related = ("owner",)
    search_fields = ("owner__email", "id", "batch", "reference")
    form = OutcomeForm
    readonly_fields = _FACTS
    actions = ("export", "download", "confirm", "ask_stripe")

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        facts = (None, {"fields": self.readonly_fields})
        return (facts, (_("Outcome"), {"fields": ("outcome", "note")})) if self._is_open(obj) else (facts,)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return obj is None or self._is_open(obj)

    def save_model(self, request: HttpRequest, obj: Payout, form: OutcomeForm, change: bool) -> None:
        outcome, note = form.cleaned_data["outcome"], form.cleaned_data["note"]
        if outcome == "paid":
            confirm_payout(payout_id=obj.pk, actor=_actor(request), reference=note)
        elif outcome == "failed":
            return_payout(payout_id=obj.pk, actor=_actor(request), reason=note)

    @admin.action(description=_("Export for the bank (CSV) and mark as sent"))
    def export(self, request: HttpRequest, rows: QuerySet[Payout]) -> HttpResponse | None:
        batch = export_batch(actor=_actor(request), payout_ids=list(rows.values_list("pk", flat=True)))
        if not batch:
            messages.warning(request, _("None of these payouts is waiting for a bank transfer."))
            return None
        return _csv_of(batch)

    @admin.action(description=_("Download the batch of the first selected payout again"))
    def download(self, request: HttpRequest, rows: QuerySet[Payout]) -> HttpResponse | None:
        batch = rows.exclude(batch="").values_list("batch", flat=True).first()
        if batch is None:
            messages.warning(request, _("This payout isn't part of a batch."))
            return None
        return _csv_of(batch)

    @admin.action(description=_("Mark as paid by the bank, with the batch as reference"))
    def confirm(self, request: HttpRequest, rows: QuerySet[Payout]) -> None:
        for row in rows:
            try:
                confirm_payout(payout_id=row.pk, actor=_actor(request), reference=row.batch)
            except DomainError as error:
                messages.error(request, f"{row}: {error_message(error)}")
            else:
                messages.success(request, str(row))

    @admin.action(description=_("Check with Stripe that the transfers are still valid"))
    def ask_stripe(self, request: HttpRequest, rows: QuerySet[Payout]) -> None:
        for row in rows.filter(method=PayoutMethod.STRIPE):
            try:
                came_back = check_transfer(payout_id=row.pk)
            except DomainError as error:
                messages.error(request, f"{row}: {error_message(error)}")
            else:
                messages.info(request, f"{row}: {_('returned') if came_back else _('valid')}")

    @staticmethod
    def _is_open(obj: Model | None) -> bool:
        return isinstance(obj, Payout) and obj.state != "failed"


class FreezeForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Form with which staff freeze or unfreeze payouts; only the owner can change the account."""

    class Meta:
        model = PayoutAccount
        fields: ClassVar = ["frozen", "frozen_reason"]
        widgets: ClassVar = {"frozen": UnfoldBooleanSwitchWidget, "frozen_reason": UnfoldAdminTextInputWidget}

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        if found.get("frozen") and not found.get("frozen_reason"):
            self.add_error("frozen_reason", _("Enter a reason. The host owner sees it."))
        return found


class AccountShown:
    """Columns shared by both panels."""

    @admin.display(description=_("account"))
    def goes_to(self, row: PayoutAccount) -> str:
        return f"{row.get_method_display()} …{row.destination.ending}"

    @admin.display(description=_("pay out from"), ordering="minimum_micros")
    def minimum(self, row: PayoutAccount) -> str:
        return format_money(row.minimum_micros)


@admin.register(PayoutAccount, site=staff_panel)
class PayoutAccountAdmin(AccountShown, ReadOnlyAdmin):
    list_display = ("owner", "goes_to", "automatic", "minimum", "frozen", "frozen_reason", "changed_at", "pays_from")
    list_filter = ("frozen", "method")
    list_select_related = ("owner",)
    search_fields = ("owner__email",)
    form = FreezeForm
    fields = ("owner", "goes_to", "holder", "minimum", "automatic", "changed_at", "frozen", "frozen_reason")
    readonly_fields = ("owner", "goes_to", "holder", "minimum", "automatic", "changed_at")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True

    def save_model(self, request: HttpRequest, obj: PayoutAccount, form: FreezeForm, change: bool) -> None:
        if form.cleaned_data["frozen"]:
            freeze_payouts(owner_id=obj.owner_id, reason=form.cleaned_data["frozen_reason"])
        else:
            unfreeze_payouts(owner_id=obj.owner_id)


@admin.register(Payout, site=host_panel)
class OwnPayoutAdmin(PayoutShown, OwnRowsAdmin):
    """The owner's payouts; they are requested in the console."""

    list_display = ("created_at", "goes_to", "amount", "state", "settled_at", "reference", "failure")
    list_filter = ("state",)
    fields = ("created_at", "goes_to", "amount", "state", "matured_until", "sent_at", "settled_at", "reference", "failure")
    readonly_fields = fields


@admin.register(PayoutAccount, site=host_panel)
class OwnPayoutAccountAdmin(AccountShown, OwnRowsAdmin):
    """The owner's payout account; it is set in the console, which asks for the password again."""

    list_display = ("goes_to", "pays_from", "automatic", "minimum", "frozen", "frozen_reason")
    fields = ("goes_to", "holder", "pays_from", "minimum", "automatic", "changed_at", "frozen", "frozen_reason")
    readonly_fields = fields


@admin.register(Usage, site=host_panel)
class EarningAdmin(OwnRowsAdmin):
    """Settled periods of use of the owner's hosts: charge, fee, and the host's share."""

    owner_path = "meter__payee__owner"
    list_display = ("what", "period_from", "period_to", "charged", "fee", "earned")
    list_select_related = ("meter",)
    fields = list_display
    readonly_fields = fields
    ordering = ("-id",)
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        return super().get_queryset(request).filter(meter__payee__kind=Wallet.Kind.HOST)

    @admin.display(description=_("what"))
    def what(self, row: Usage) -> str:
        return ledger_label(row.meter.label)

    @admin.display(description=_("charged"), ordering="charge_micros")
    def charged(self, row: Usage) -> str:
        return format_money(row.charge_micros)

    @admin.display(description=_("fee"))
    def fee(self, row: Usage) -> str:
        return format_money(row.fee_micros)

    @admin.display(description=_("earned"))
    def earned(self, row: Usage) -> str:
        return format_money(row.charge_micros - row.fee_micros)


class BelowZero(admin.SimpleListFilter):
    """Filter for wallets that owe: earnings after a late refund, debts."""

    title = _("balance")
    parameter_name = "below"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("zero", _("below zero"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(balance_micros__lt=0, owner__isnull=False) if self.value() else queryset


def _actor(request: HttpRequest) -> str:
    return f"staff:{panel_user(request).pk.hex}"


def _csv_of(batch: str) -> HttpResponse:
    text = bank_csv(bank_batch(batch), settings.MARKET_CURRENCY)
    name = f'attachment; filename="payouts-{batch}.csv"'
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers={"Content-Disposition": name})
