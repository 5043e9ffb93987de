"""Forms of the team pages."""

from typing import Any
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import Membership
from common.email_addresses import EmailField
from common.errors import InvalidInput
from common.http.fields import DecimalInput, NameField
from common.money import parse_money


class TeamForm(forms.Form):
    name = NameField(label=_("Team name"), max_length=80)


class InviteForm(forms.Form):
    email = EmailField(label=_("Email address"))
    role = forms.ChoiceField(label=_("Role"), choices=Membership.Role.choices, initial=Membership.Role.MEMBER)


class MoneyTransferForm(forms.Form):
    to_id = forms.TypedChoiceField(label=_("To"), coerce=UUID)
    amount_micros = forms.CharField(label=_("Amount"), max_length=30, widget=DecimalInput())
    memo = NameField(label=_("Purpose"), max_length=80, required=False)
    key = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, receivers: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["to_id"].choices = receivers  # type: ignore[attr-defined]  # a choice field's

    def clean_amount_micros(self) -> int:
        return read_amount(self.cleaned_data["amount_micros"])


def read_amount(text: str) -> int:
    """Return an amount in micro-units.

    Raises:
        ValidationError: it is not an amount above zero.
    """
    try:
        micros = parse_money(text.strip())
    except InvalidInput as error:
        raise forms.ValidationError(_("Enter an amount, such as 12.50.")) from error
    if micros <= 0:
        raise forms.ValidationError(_("Enter an amount above zero."))
    return micros
