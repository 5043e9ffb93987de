"""Form fields about the billing mode: hourly, tiered, a reserved term, or a spot bid."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from billing.pricing.estimates import HOURLY, MODES, NO_UPFRONT, RESERVED, SPOT, UPFRONT
from common.ids import parse_public_id
from common.money import format_money, parse_money
from instances.constants import NO_UPFRONT_HOURS_MIN
from instances.pricing.price_plans import offer_plans, terms_of
from marketplace.pricing.prices import TERM_HOURS
from marketplace.search.messages import LENGTH_LABELS, MODE_LABELS

if TYPE_CHECKING:
    from marketplace.leasing.offer_selectors import OfferView

PAYMENTS: Final = ((UPFRONT, _("Pay upfront")), (NO_UPFRONT, _("Pay as each hour passes")))
MODE_HINTS: Final = {
    "hourly": _("Billed per second while running. Stop anytime."),
    "tiered": _("Like on-demand, but cheaper the longer it runs without a break."),
    "reserved": _("Lower price for a fixed term. GPUs stay yours, running or stopped."),
    "spot": _("Lowest price. Can be interrupted on two minutes' notice; resumes automatically."),
}


class ModeFields(forms.Form):
    """Form fields about the billing mode; call `sell` with the offer before anything is read."""

    billing_mode = forms.ChoiceField(label=_("Billing mode"), widget=forms.RadioSelect, required=False)
    term = forms.ChoiceField(label=_("Term"), widget=forms.RadioSelect, required=False)
    payment = forms.ChoiceField(label=_("Payment"), choices=PAYMENTS, widget=forms.RadioSelect, required=False)
    auto_renew = forms.BooleanField(label=_("Auto-renew at the then-current price"), required=False)
    max_price = forms.CharField(label=_("Max price per GPU-hour"), max_length=20, required=False)
    quote_id = forms.CharField(required=False, widget=forms.HiddenInput)

    def sell(self, offer: "OfferView", modes: Iterable[str] = MODES) -> None:
        """Set the modes and terms that the offer sells now.

        A value from the address that is not sold is dropped.
        """
        terms = terms_of(offer)
        sold = [mode for mode in offer_plans(offer, term=terms[0] if terms else "") if mode in set(modes)]
        self._choose("billing_mode", [(mode, MODE_LABELS[mode]) for mode in sold], sold[0] if sold else HOURLY)
        self._choose("term", [(term, LENGTH_LABELS[term]) for term in terms], terms[-1] if terms else "")
        self.fields["payment"].initial = UPFRONT
        self.fields["max_price"].initial = format_money(offer.price_micros)

    def _choose(self, name: str, choices: list[tuple[Any, Any]], first: Any) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices
        field.initial = first
        if str(self.initial.get(name)) not in {str(value) for value, _words in choices}:
            self.initial.pop(name, None)

    @property
    def quote_id_given(self) -> UUID:
        """Return the id of the quote, or raise NotFound when the page sent none."""
        return parse_public_id("quot", self.cleaned_data["quote_id"])

    @property
    def mode_hints(self) -> dict[str, Any]:
        return MODE_HINTS

    @property
    def mode_options(self) -> dict[str, Any]:
        """Return the options of the chosen mode as a quote takes them.

        Raises InvalidInput for a malformed price.
        """
        data = self.cleaned_data
        mode = data["billing_mode"] or HOURLY
        options: dict[str, Any] = {"billing_mode": mode}
        if mode == RESERVED:
            term = data["term"]
            short = TERM_HOURS.get(term, 0) < NO_UPFRONT_HOURS_MIN
            options |= {"term": term, "payment": UPFRONT if short else data["payment"] or UPFRONT}
        if mode == SPOT:
            options["max_price_micros"] = parse_money(data["max_price"] or "0")
        return options
