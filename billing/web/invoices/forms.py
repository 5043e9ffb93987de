"""Forms of the pages of coupons, orders and invoices."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from billing.calendar_months import midnight
from billing.invoices.messages import MODE_LABELS
from billing.invoices.selectors import OrderFilter
from billing.models import BillingAddress, Order
from common.errors import NotFound
from common.http.fields import DayField
from common.ids import parse_public_id


class CodeForm(forms.Form):
    """A coupon code, as it was handed out."""

    code = forms.CharField(
        label=_("Coupon code"),
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false"}),
    )


class AddressForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """Address on invoices; a service saves it."""

    class Meta:
        model = BillingAddress
        fields = ("name", "address", "country", "tax_id")
        widgets = {  # noqa: RUF012  Django's own way
            "name": forms.TextInput(attrs={"autocomplete": "organization"}),
            "address": forms.Textarea(attrs={"rows": 3, "autocomplete": "street-address"}),
            "country": forms.TextInput(attrs={"autocomplete": "country", "maxlength": 2, "size": 4}),
        }

    def clean_country(self) -> str:
        country = str(self.cleaned_data["country"]).strip().upper()
        if country and not (len(country) == 2 and country.isascii() and country.isalpha()):  # noqa: PLR2004  two letters
            raise forms.ValidationError(_("Enter two letters, such as DE or CN."))
        return country


class OrdersForm(forms.Form):
    """Filters for orders; days are whole days in UTC, both included."""

    kind = forms.ChoiceField(label=_("Kind"), choices=[("", _("all types")), *Order.Kind.choices], required=False)
    billing_mode = forms.ChoiceField(
        label=_("Billing mode"), choices=[("", _("all modes")), *MODE_LABELS.items()], required=False
    )
    day_from = DayField(label=_("From day"), required=False)
    day_to = DayField(label=_("To day"), required=False)
    instance = forms.CharField(label=_("Instance"), required=False, max_length=60, widget=forms.HiddenInput)

    def clean_instance(self) -> UUID | None:
        text = self.cleaned_data["instance"]
        try:
            return parse_public_id("inst", text) if text else None
        except NotFound as error:
            raise forms.ValidationError(error.detail) from error

    def wanted(self) -> OrderFilter:
        """Return the requested filter; a field that is not valid filters nothing."""
        data: dict[str, Any] = self.cleaned_data if self.is_valid() else getattr(self, "cleaned_data", {})
        day_to = data.get("day_to")
        return OrderFilter(
            kind=data.get("kind") or "",
            billing_mode=data.get("billing_mode") or "",
            since=midnight(data.get("day_from")),
            until=midnight(day_to + timedelta(days=1) if day_to else None),
            source_id=data.get("instance"),
        )
