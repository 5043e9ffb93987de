"""Staff panel of card payments, refunds, disputes, Stripe's events, and comparisons with Stripe."""

from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminDecimalFieldWidget, UnfoldAdminTextInputWidget

from accounts.web.admin_sites import ReadOnlyAdmin, ReadOnlyInline, panel_user, staff_panel
from billing.coupons.selectors import repaid_micros
from billing.ledger_label_translations import ledger_label
from billing.models import Dispute, MoneyFreeze, Payment, PaymentProfile, Reconciliation, Refund, StripeEvent
from billing.payments.reconcile_stripe import request_reconciliation
from billing.payments.refunds import refund_payment
from billing.payments.selectors import refund_quote, refundable_micros
from billing.payments.stripe_events import refusal_counts
from billing.states import PaymentState
from billing.stripe import client
from common.http.fields import NameField, PlainDecimalField
from common.ids import new_uuid
from common.money import format_money, parse_money


class RefundActionForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Form that never edits a payment; saving it with an amount refunds that much to its card."""

    refund = PlainDecimalField(
        label=_("Refund to card"),
        min_value=0,
        max_digits=14,
        decimal_places=6,
        required=False,
        widget=UnfoldAdminDecimalFieldWidget,
    )
    reason = NameField(label=_("Reason"), max_length=160, required=False, widget=UnfoldAdminTextInputWidget)
    key = forms.UUIDField(widget=forms.HiddenInput, initial=lambda: new_uuid().hex)

    class Meta:
        model = Payment
        fields: ClassVar[list[str]] = []

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("refund") and not cleaned.get("reason"):
            self.add_error("reason", _("Enter a reason. The renter sees it with the refund."))
        return cleaned


class RefundInline(ReadOnlyInline):
    model = Refund
    fields = ("amount", "state", "why", "actor", "stripe_id", "created_at", "settled_at")
    readonly_fields = fields

    @admin.display(description=_("reason"))
    def why(self, row: Refund) -> str:
        return ledger_label(row.reason)

    @admin.display(description=_("amount"))
    def amount(self, row: Refund) -> str:
        return format_money(row.amount_micros)


class DisputeInline(ReadOnlyInline):
    model = Dispute
    fields = ("amount", "state", "reason", "stripe_id", "opened_at", "closed_at")
    readonly_fields = fields

    @admin.display(description=_("amount"))
    def amount(self, row: Dispute) -> str:
        return format_money(row.amount_micros)


@admin.register(Payment, site=staff_panel)
class PaymentAdmin(ReadOnlyAdmin):
    list_display = ("owner", "amount", "state", "origin", "refunded", "created_at", "paid_at")
    list_filter = ("state", "origin")
    list_select_related = ("owner",)
    search_fields = ("owner__email", "id", "intent_id", "charge_id", "session_id")
    form = RefundActionForm
    readonly_fields = (
        "owner", "amount", "state", "origin", "refunded", "refundable", "bonus", "failure",
        "intent_id", "charge_id", "session_id", "created_at", "paid_at",
    )  # fmt: skip
    inlines = (RefundInline, DisputeInline)

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        facts = (None, {"fields": self.readonly_fields})
        action = (_("Refund"), {"fields": ("refund", "reason", "key")})
        return (facts, action) if self._refunds(obj) else (facts,)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return obj is None or self._refunds(obj)

    def save_model(self, request: HttpRequest, obj: Payment, form: RefundActionForm, change: bool) -> None:
        amount = form.cleaned_data.get("refund")
        if amount:
            micros = parse_money(f"{amount:f}")
            before = repaid_micros(obj.pk)
            refund_payment(
                payment_id=obj.pk,
                amount_micros=micros,
                reason=form.cleaned_data["reason"],
                actor=f"staff:{panel_user(request).pk.hex}",
                refund_id=UUID(str(form.cleaned_data["key"])),
            )
            messages.success(request, _("Refund started. The amount was deducted from the wallet."))
            if repaid := repaid_micros(obj.pk) - before:
                message = _("%(amount)s was deducted from the wallet for the used bonus of this top-up.")
                messages.info(request, message % {"amount": format_money(repaid)})

    @staticmethod
    def _refunds(obj: Model | None) -> bool:
        return isinstance(obj, Payment) and obj.state == PaymentState.SUCCEEDED

    @admin.display(description=_("amount"), ordering="amount_micros")
    def amount(self, row: Payment) -> str:
        return format_money(row.amount_micros)

    @admin.display(description=_("refunded"), ordering="refunded_micros")
    def refunded(self, row: Payment) -> str:
        return format_money(row.refunded_micros)

    @admin.display(description=_("refundable"))
    def refundable(self, row: Payment) -> str:
        return format_money(refundable_micros(row))

    @admin.display(description=_("deducted for used bonus"))
    def bonus(self, row: Payment) -> str:
        """Return what the wallet pays for the bonus beside the largest refund."""
        return format_money(refund_quote(row, refundable_micros(row)).bonus_micros)


@admin.register(Refund, site=staff_panel)
class RefundAdmin(ReadOnlyAdmin):
    list_display = ("payment", "amount", "state", "why", "actor", "created_at", "settled_at")
    list_filter = ("state",)
    search_fields = ("stripe_id", "payment__owner__email")
    exclude: ClassVar = ("reason",)
    readonly_fields = ("why",)

    @admin.display(description=_("reason"))
    def why(self, row: Refund) -> str:
        return ledger_label(row.reason)

    @admin.display(description=_("amount"), ordering="amount_micros")
    def amount(self, row: Refund) -> str:
        return format_money(row.amount_micros)


@admin.register(Dispute, site=staff_panel)
class DisputeAdmin(ReadOnlyAdmin):
    list_display = ("payment", "amount", "state", "reason", "opened_at", "closed_at")
    list_filter = ("state",)
    search_fields = ("stripe_id", "payment__owner__email")

    @admin.display(description=_("amount"), ordering="amount_micros")
    def amount(self, row: Dispute) -> str:
        return format_money(row.amount_micros)


@admin.register(PaymentProfile, site=staff_panel)
class PaymentProfileAdmin(ReadOnlyAdmin):
    list_display = ("owner", "card_brand", "card_last4", "auto_enabled", "auto_tried_at", "auto_failure")
    list_filter = ("auto_enabled",)
    list_select_related = ("owner",)
    search_fields = ("owner__email", "customer_id")


@admin.register(StripeEvent, site=staff_panel)
class StripeEventAdmin(ReadOnlyAdmin):
    """Stripe's events, each once; the number of refused ones is above the list."""

    list_display = ("id", "kind", "object_id", "received_at", "deliveries", "applied_at", "tries", "outcome")
    list_filter = (("applied_at", admin.EmptyFieldListFilter), "kind")
    search_fields = ("id", "object_id")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        counts = refusal_counts()
        if any(counts.values()):
            message = _("Rejected: %(forged)d forged, %(stale)d expired, %(malformed)d malformed.")
            messages.warning(request, message % counts)
        return super().changelist_view(request, extra_context)


@admin.register(Reconciliation, site=staff_panel)
class ReconciliationAdmin(ReadOnlyAdmin):
    """Comparisons with Stripe; adding one requests a comparison, which a worker runs."""

    list_display = (
        "created_at",
        "requested_by",
        "since",
        "until",
        "finished_at",
        "seen",
        "healed",
        "differences",
        "failure",
    )
    readonly_fields = (*list_display, "findings")
    fields = readonly_fields

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return () if obj is None else self.readonly_fields

    def has_add_permission(self, request: HttpRequest) -> bool:
        return client.is_configured()

    def save_model(self, request: HttpRequest, obj: Reconciliation, form: Any, change: bool) -> None:
        wanted = request_reconciliation(actor=f"staff:{panel_user(request).pk.hex}")
        obj.pk, obj.requested_by, obj.created_at = wanted.pk, wanted.requested_by, wanted.created_at

    @admin.display(description=_("differences"))
    def differences(self, row: Reconciliation) -> int:
        return len(row.findings)


@admin.register(MoneyFreeze, site=staff_panel)
class MoneyFreezeAdmin(ReadOnlyAdmin):
    list_display = ("since", "reason", "lifted_at", "lifted_by")
