"""Form fields of host owners' pages."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from common.errors import InvalidInput
from common.http.fields import DecimalInput, NameField
from common.money import parse_money


class MoneyField(forms.CharField):
    """A decimal amount, converted to micro-units; empty becomes None."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(widget=DecimalInput(), max_length=20, **kwargs)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        try:
            micros = parse_money(text)
        except InvalidInput as error:
            raise forms.ValidationError(_("Enter a price, such as 1.50.")) from error
        if micros < 0:
            raise forms.ValidationError(_("The price can't be negative."))
        return micros


class EnrolForm(forms.Form):
    host_name = NameField(label=_("Host name"), max_length=80, help_text=_("The name renters see, such as lab-03."))
    region = NameField(label=_("Region"), max_length=40, help_text=_("City or area, such as eu-west or Shanghai."))
    price_micros = MoneyField(label=_("Initial price per GPU-hour"), help_text=_("You can change it at any time."))
