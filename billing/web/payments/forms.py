"""Forms of card payments."""

from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from billing.models import PaymentProfile
from billing.payments.cards import AutoRule
from billing.stripe.currencies import round_down, top_up_limits
from common.errors import InvalidInput
from common.http.fields import DecimalInput
from common.ids import new_uuid
from common.money import format_money, parse_money


class AmountField(forms.CharField):
    """A decimal amount that a card can be charged, converted to micro-units."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(widget=DecimalInput(), max_length=20, **kwargs)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return 0
        try:
            micros = parse_money(text)
        except InvalidInput as error:
            raise forms.ValidationError(_("Enter an amount, such as 25.50.")) from error
        limits = top_up_limits(settings.MARKET_CURRENCY)
        if micros != round_down(micros, settings.MARKET_CURRENCY):
            raise forms.ValidationError(_("Enter an amount with at most two decimals."))
        if not limits.least_micros <= micros <= limits.most_micros:
            span = {"least": format_money(limits.least_micros), "most": format_money(limits.most_micros)}
            raise forms.ValidationError(_("Enter an amount from %(least)s to %(most)s.") % span)
        return micros


class TopUpForm(forms.Form):
    """Form of a top-up; its `key` makes a second press of the button the same top-up."""

    amount = AmountField(label=_("Amount"))
    save_card = forms.BooleanField(
        label=_("Save this card for auto top-up"),
        required=False,
        help_text=_("Stripe stores the card. It is only charged according to the rule you set on this page."),
    )
    key = forms.CharField(widget=forms.HiddenInput, max_length=64, initial=lambda: new_uuid().hex)


class AutoForm(forms.Form):
    """Rule of automatic top-up."""

    enabled = forms.BooleanField(label=_("Auto top-up"), required=False)
    threshold = AmountField(label=_("When available funds fall below"), required=False)
    amount = AmountField(label=_("Amount to charge"), required=False)
    monthly_cap = forms.CharField(label=_("Monthly limit"), required=False, max_length=20)

    def clean_monthly_cap(self) -> int:
        try:
            return parse_money(self.cleaned_data["monthly_cap"] or "0")
        except InvalidInput as error:
            raise forms.ValidationError(_("Enter an amount, such as 25.50.")) from error

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        if not found.get("enabled") or self.errors:
            return found
        for name in ("threshold", "amount"):
            if not found[name]:
                self.add_error(name, _("Enter an amount."))
        if not 0 < found["amount"] <= found["monthly_cap"]:
            self.add_error("monthly_cap", _("The monthly limit must be at least the amount of one top-up."))
        return found

    @property
    def rule(self) -> AutoRule:
        found = self.cleaned_data
        return AutoRule(found["enabled"], found["threshold"], found["amount"], found["monthly_cap"])


class RefundForm(forms.Form):
    """A renter's own refund.

    Amount and bonus payment are those shown on the page; the key makes a second press harmless.
    """

    amount = forms.IntegerField(min_value=1)
    bonus = forms.IntegerField(min_value=0, required=False)
    key = forms.UUIDField()


def initial_auto_rule(profile: PaymentProfile) -> dict[str, object]:
    """Return the initial values of the form: the present rule, or suggested amounts."""
    limits = top_up_limits(settings.MARKET_CURRENCY)
    usual = limits.chips_micros
    chosen = profile.auto_amount_micros > 0
    return {
        "enabled": profile.auto_enabled,
        "threshold": format_money(profile.auto_threshold_micros if chosen else limits.least_micros),
        "amount": format_money(profile.auto_amount_micros if chosen else usual[1]),
        "monthly_cap": format_money(profile.auto_monthly_cap_micros if chosen else usual[4]),
    }
