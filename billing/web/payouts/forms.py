"""Forms of payouts."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from billing.constants import PAYOUT_LEAST_MICROS
from billing.models import PayoutAccount, PayoutMethod
from billing.models.payout_destinations import Destination, parse_destination
from common.errors import InvalidInput
from common.http.fields import DecimalInput, NameField
from common.money import format_money, parse_money

_FAULTS = {
    "stripe_account_id": _("A Stripe account ID starts with acct_."),
    "holder": _("Enter the account holder's name as registered with the bank."),
    "iban": _("This IBAN or account number isn't valid: a character is wrong or missing."),
    "bank": _("Enter the bank's name or BIC. It's required for an account number without an IBAN."),
}
_PLAIN = {"autocomplete": "off", "spellcheck": "false"}


class PayoutAccountForm(forms.Form):
    """Payout account; of a saved one only the last characters are shown, so changes need the number again."""

    method = forms.ChoiceField(label=_("Payout method"), choices=PayoutMethod.choices, widget=forms.RadioSelect)
    holder = NameField(label=_("Account holder"), max_length=120, required=False)
    iban = forms.CharField(
        label=_("IBAN or account number"),
        max_length=60,
        required=False,
        widget=forms.TextInput(attrs=_PLAIN),
        help_text=_("Spaces are ignored. IBAN checksums are verified."),
    )
    bank = NameField(
        label=_("Bank or BIC"), max_length=80, required=False, help_text=_("Required for an account number without an IBAN.")
    )
    stripe_account_id = forms.CharField(
        label=_("Stripe account"),
        max_length=64,
        required=False,
        widget=forms.TextInput(attrs={**_PLAIN, "placeholder": "acct_…"}),
        help_text=_("The ID of your Stripe account connected to Berth."),
    )
    minimum = forms.CharField(
        label=_("Minimum payout"),
        max_length=20,
        widget=DecimalInput(),
        help_text=_("Smaller amounts are carried over to the next week."),
    )
    automatic = forms.BooleanField(label=_("Weekly automatic payouts"), required=False)

    def clean_minimum(self) -> int:
        try:
            micros = parse_money(self.cleaned_data["minimum"])
        except InvalidInput as error:
            raise forms.ValidationError(_("Enter an amount, such as 10.00.")) from error
        if micros < PAYOUT_LEAST_MICROS:
            least = {"least": format_money(PAYOUT_LEAST_MICROS)}
            raise forms.ValidationError(_("The minimum payout is %(least)s."), params=least)
        return micros

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        names = ("method", "stripe_account_id", "holder", "iban", "bank")
        try:
            self.destination = parse_destination(**{name: found.get(name, "") for name in names})
        except InvalidInput as error:
            for fault in error.errors:
                self.add_error(fault.field, _FAULTS[fault.field])
        return found

    destination: Destination


def initial_account(account: PayoutAccount | None) -> dict[str, Any]:
    """Return the initial values of the form."""
    if account is None:
        return {"method": PayoutMethod.BANK, "minimum": "10.00", "automatic": True}
    return {
        "method": account.method,
        "holder": account.holder,
        "bank": account.bank,
        "minimum": format_money(account.minimum_micros),
        "automatic": account.automatic,
    }
