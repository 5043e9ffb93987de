"""Staff panel of coupon codes, redeemed coupons, orders, and invoices with their corrections."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import Model
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminSplitDateTimeWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from accounts.web.admin_sites import ReadOnlyAdmin, ReadOnlyInline, panel_user, staff_panel
from billing.constants import COUPON_GUESSABLE_CHARS
from billing.coupons.codes import create_code, set_code_active
from billing.invoices.invoices import correct_invoice
from billing.invoices.lines import InvoiceLine, lines_from_json, number_of_seconds
from billing.invoices.messages import MODE_LABELS, line_text, period_text
from billing.ledger_label_translations import ledger_label
from billing.models import Coupon, CouponCode, CouponDraw, Invoice, Order
from billing.staff_credit.selectors import name_of
from common.http.fields import NameField, PlainDecimalField
from common.money import format_money, parse_money

_MONEY = {"max_digits": 14, "decimal_places": 6, "min_value": 0, "required": False, "widget": UnfoldAdminDecimalFieldWidget}


class CodeForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Form of a new code, or of whether an existing one is still offered: what it promises never changes."""

    code = forms.CharField(
        max_length=40,
        label=_("Coupon code"),
        required=False,
        help_text=_("Leave blank to generate a random code."),
        widget=UnfoldAdminTextInputWidget,
    )
    kind = forms.ChoiceField(choices=CouponCode.Kind.choices, label=_("Kind"), widget=UnfoldAdminSelectWidget)
    amount = PlainDecimalField(label=_("Amount (fixed coupons)"), **_MONEY)
    percent = PlainDecimalField(
        label=_("% of the next top-up"),
        min_value=0,
        max_value=100,
        decimal_places=2,
        required=False,
        widget=UnfoldAdminDecimalFieldWidget,
    )
    most = PlainDecimalField(label=_("At most"), **_MONEY)
    modes = forms.MultipleChoiceField(
        label=_("Only for these billing modes"),
        choices=list(MODE_LABELS.items()),
        required=False,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
    )
    gpu_models = forms.CharField(
        label=_("Only for these GPU models"),
        required=False,
        help_text=_("As in market URLs, separated by commas: rtx-4090, h100-sxm. Leave blank for all models."),
        widget=UnfoldAdminTextInputWidget,
    )
    expires_at = forms.SplitDateTimeField(
        label=_("Redeemable until (UTC)"), required=False, widget=UnfoldAdminSplitDateTimeWidget
    )
    valid_days = forms.IntegerField(
        label=_("Valid for (days)"), min_value=1, required=False, widget=UnfoldAdminIntegerFieldWidget
    )
    per_user = forms.IntegerField(label=_("Uses per person"), min_value=1, initial=1, widget=UnfoldAdminIntegerFieldWidget)
    total_limit = forms.IntegerField(
        label=_("Total uses"), min_value=1, required=False, widget=UnfoldAdminIntegerFieldWidget
    )

    class Meta:
        model = CouponCode
        fields: ClassVar[list[str]] = []

    def clean_gpu_models(self) -> list[str]:
        return [part.strip().lower() for part in self.cleaned_data["gpu_models"].split(",") if part.strip()]

    def _post_clean(self) -> None:
        """Skip validation of the row: the service that writes it checks it."""

    def promise(self) -> dict[str, Any]:
        """Return the arguments of `create_code`."""
        data = self.cleaned_data
        names = ("code", "kind", "modes", "gpu_models", "expires_at", "valid_days", "per_user", "total_limit")
        percent = data["percent"]
        return {
            **{name: data[name] for name in names},
            "amount_micros": _micros(data["amount"]),
            "most_micros": _micros(data["most"]),
            "percent_bps": None if percent is None else int(percent * 100),
        }


class OfferedForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Form for whether a code can still be redeemed."""

    active = forms.BooleanField(label=_("Redeemable"), required=False, widget=UnfoldBooleanSwitchWidget)

    class Meta:
        model = CouponCode
        fields = ("active",)
        help_texts: ClassVar = {field.name: "" for field in CouponCode._meta.get_fields()}


@admin.register(CouponCode, site=staff_panel)
class CouponCodeAdmin(ReadOnlyAdmin):
    """Coupon codes: created and withdrawn here, never edited."""

    list_display = ("code", "kind", "gives", "mode_names", "gpu_models", "redeemed", "total_limit", "expires_at", "active")
    list_filter = ("kind", "active")
    search_fields = ("code",)
    _new = (
        "code",
        "kind",
        "amount",
        "percent",
        "most",
        "modes",
        "gpu_models",
        "expires_at",
        "valid_days",
        "per_user",
        "total_limit",
    )
    _facts = (
        "code",
        "kind",
        "gives",
        "mode_names",
        "gpu_models",
        "expires_at",
        "valid_days",
        "per_user",
        "redeemed",
        "total_limit",
    )

    @admin.display(description=_("billing modes"))
    def mode_names(self, row: CouponCode) -> str:
        return ", ".join(str(MODE_LABELS.get(mode, mode)) for mode in row.modes)

    _people = ("created_by", "created_at", "second", "waits")

    def get_form(self, request: HttpRequest, obj: Model | None = None, change: bool = False, **options: Any) -> Any:
        return OfferedForm if obj else CodeForm

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return ((None, {"fields": (*self._facts, *self._people, "active") if obj else self._new}),)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        return (*self._facts, *self._people) if obj else ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        return True

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True

    def save_model(self, request: HttpRequest, obj: CouponCode, form: Any, change: bool) -> None:
        if change:
            set_code_active(code_id=obj.pk, active=form.cleaned_data["active"], actor=_actor(request))
            return
        made = create_code(actor=_actor(request), **form.promise())
        obj.pk, obj.code = made.pk, made.code
        if made.waits:
            messages.warning(
                request,
                _("This code can pay out more than one staff member may grant alone. A second one must activate it."),
            )
        if len(made.code) < COUPON_GUESSABLE_CHARS:
            messages.warning(request, _("This code is short enough to guess. Treat it as public and set a total limit."))

    @admin.display(description=_("confirmed by"))
    def second(self, row: CouponCode) -> str:
        return name_of(row.confirmed_by)

    @admin.display(description=_("benefit"))
    def gives(self, row: CouponCode) -> str:
        if row.kind == CouponCode.Kind.FIXED:
            return format_money(row.amount_micros or 0)
        most = "" if row.most_micros is None else f" ≤ {format_money(row.most_micros)}"
        return f"{(row.percent_bps or 0) / 100:g} %{most}"


def _actor(request: HttpRequest) -> str:
    return f"staff:{panel_user(request).pk.hex}"


class DrawInline(ReadOnlyInline):
    model = CouponDraw
    fields = ("source_kind", "source_id", "drawn", "used", "returned", "opened_at", "closed_at")
    readonly_fields = fields

    @admin.display(description=_("charged to coupons"))
    def drawn(self, row: CouponDraw) -> str:
        return format_money(row.drawn_micros)

    @admin.display(description=pgettext_lazy("amount", "used"))
    def used(self, row: CouponDraw) -> str:
        return format_money(row.used_micros)

    @admin.display(description=_("returned"))
    def returned(self, row: CouponDraw) -> str:
        return format_money(row.returned_micros)


@admin.register(Coupon, site=staff_panel)
class CouponAdmin(ReadOnlyAdmin):
    """Redeemed coupons, and where their money went."""

    list_display = ("code", "owner", "granted", "remaining", "waits_for_top_up", "redeemed_at", "expires_at", "expired_at")
    list_select_related = ("code", "owner")
    search_fields = ("code__code", "owner__email")
    fields = (*list_display, "payment")
    readonly_fields = fields
    inlines = (DrawInline,)

    @admin.display(description=_("granted"))
    def granted(self, row: Coupon) -> str:
        return format_money(row.granted_micros)

    @admin.display(description=_("remaining"))
    def remaining(self, row: Coupon) -> str:
        return format_money(row.remaining_micros)


@admin.register(Order, site=staff_panel)
class OrderAdmin(ReadOnlyAdmin):
    list_display = ("what", "kind", "owner", "source_kind", "source_id", "paid", "created_at")
    list_filter = ("kind",)
    list_select_related = ("owner",)
    search_fields = ("owner__email", "source_id", "key")
    exclude: ClassVar = ("title",)
    readonly_fields = ("what",)

    @admin.display(description=_("title"), ordering="title")
    def what(self, row: Order) -> str:
        return ledger_label(row.title)

    @admin.display(description=_("paid upfront"))
    def paid(self, row: Order) -> str:
        return format_money(row.amount_micros)


class CorrectionForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Form that never edits an invoice; saving it with a reason writes a credit note.

    The field must not have the name of the model's `reason`, or it would be filled in with that of an earlier
    correction.
    """

    because = NameField(
        label=_("Reason for the full credit note"),
        max_length=160,
        required=False,
        widget=UnfoldAdminTextInputWidget,
    )
    reissue = forms.BooleanField(
        label=_("Reissue with the buyer's current address"), required=False, widget=UnfoldBooleanSwitchWidget
    )

    class Meta:
        model = Invoice
        fields: ClassVar[list[str]] = []


@admin.register(Invoice, site=staff_panel)
class InvoiceAdmin(ReadOnlyAdmin):
    """Issued invoices and credit notes, with the lines that the renter sees."""

    list_display = ("whole_number", "kind", "owner", "period_from", "total", "tax", "coupons", "corrects", "issued_at")
    list_filter = ("kind", "year")
    list_select_related = ("owner", "corrects")
    search_fields = ("owner__email", "number")
    form = CorrectionForm
    readonly_fields = (*list_display, "period_to", "currency", "sold_by", "bought_by", "shown_lines", "actor")

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        facts = (None, {"fields": self.readonly_fields})
        return (facts, (_("Correction"), {"fields": ("because", "reissue")})) if self._is_correctable(obj) else (facts,)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return obj is None or self._is_correctable(obj)

    def save_model(self, request: HttpRequest, obj: Invoice, form: CorrectionForm, change: bool) -> None:
        data = form.cleaned_data
        if data["because"]:
            actor = f"staff:{panel_user(request).pk.hex}"
            papers = correct_invoice(invoice_id=obj.pk, reason=data["because"], actor=actor, reissue=data["reissue"])
            messages.success(request, _("Issued: %(numbers)s") % {"numbers": ", ".join(map(str, papers))})

    @staticmethod
    def _is_correctable(obj: Model | None) -> bool:
        return isinstance(obj, Invoice) and obj.kind == Invoice.Kind.INVOICE and not obj.corrections.exists()

    @admin.display(description=_("number"), ordering="number")
    def whole_number(self, row: Invoice) -> str:
        return row.full_number

    @admin.display(description=_("Seller"))
    def sold_by(self, row: Invoice) -> str:
        return _party(row.seller)

    @admin.display(description=_("Buyer"))
    def bought_by(self, row: Invoice) -> str:
        return _party(row.buyer)

    @admin.display(description=_("lines"))
    def shown_lines(self, row: Invoice) -> str:
        lines = ((ledger_label(line.what), line_text(line), *_reckoning(line)) for line in lines_from_json(row.lines))
        return format_html_join("", "<p><b>{}</b><br>{}<br>{}<br>{}</p>", lines)

    @admin.display(description=_("total"), ordering="total_micros")
    def total(self, row: Invoice) -> str:
        return format_money(row.total_micros)

    @admin.display(description=_("tax"))
    def tax(self, row: Invoice) -> str:
        return format_money(row.tax_micros)

    @admin.display(description=_("coupons"))
    def coupons(self, row: Invoice) -> str:
        return format_money(row.coupon_micros)


def _party(party: dict[str, Any]) -> str:
    rows = [party.get(name, "") for name in ("name", "address", "country", "email", "tax_id")]
    return format_html_join("", "<div>{}</div>", ((part,) for row in rows for part in str(row).splitlines()))


def _reckoning(line: InvoiceLine) -> tuple[str, str]:
    amount = format_money(line.amount_micros)
    if line.rate_micros is None:
        return period_text(line), amount
    seconds = number_of_seconds(line.microseconds)
    return period_text(line), f"{seconds} s × {format_money(line.rate_micros)} / {line.rate_hours} h: {amount}"


def _micros(amount: Any) -> int | None:
    return None if amount is None else parse_money(f"{amount:f}")
