"""Form of the calculator, filled from the page's address."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from billing.pricing.estimates import NO_UPFRONT, UPFRONT
from common.http.fields import DecimalInput, PlainDecimalField
from instances.constants import ESTIMATE_GPUS_MAX, ESTIMATE_HOURS_MAX, ESTIMATE_PEAK_MAX
from marketplace.constants import DATA_DISK_GB_MAX, FREE_DATA_DISK_GB
from marketplace.search.messages import LENGTH_LABELS
from marketplace.web.forms import MoneyField
from marketplace.web.pricing.forms import TiersField

# FIRST is shown on a first visit, BASE stands for what an address leaves out.
FIRST: Final[Mapping[str, str]] = {
    "unit_price": "1.00",
    "hours": "720",
    "term": "month",
    "discount": "20",
    "tiers": "168:5, 720:15",
    "spot_price": "0.40",
}
BASE: Final[Mapping[str, str]] = {"hours": "720", "gpu_count": "1", "term": "month", "payment": UPFRONT, "peak_factor": "1"}
_PERCENT: Final = 100


def _number(label: Any, largest: int, **options: Any) -> PlainDecimalField:
    return PlainDecimalField(
        label=label, min_value=0, max_value=largest, max_digits=14, decimal_places=6, widget=DecimalInput(), **options
    )


class CalculatorForm(forms.Form):
    """Prices, from an offer or typed, and the work; a mode whose price is empty is left out."""

    offer = forms.ChoiceField(label=_("Prices from"), required=False)
    unit_price = MoneyField(label=_("On-demand price per GPU"), required=False)
    discount = _number(_("Discount (%)"), _PERCENT - 1, required=False)
    tiers = TiersField(label=_("Tiers"), required=False, help_text=_("Enter hours and a discount, such as 720:15."))
    spot_price = MoneyField(label=_("Current spot price"), required=False)
    hours = _number(_("Hours of use"), ESTIMATE_HOURS_MAX)
    gpu_count = forms.IntegerField(
        label=_("Number of GPUs"),
        min_value=1,
        max_value=ESTIMATE_GPUS_MAX,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    term = forms.ChoiceField(label=_("Reserved term"), choices=list(LENGTH_LABELS.items()), required=False)
    payment = forms.ChoiceField(
        label=_("Payment"), choices=[(UPFRONT, _("upfront")), (NO_UPFRONT, _("hour by hour"))], required=False
    )
    data_disk_gb = forms.IntegerField(
        label=_("Data disk (GB)"),
        min_value=0,
        max_value=DATA_DISK_GB_MAX,
        required=False,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off"}),
    )
    storage_total = MoneyField(label=_("Total storage cost"), required=False)
    peak_factor = _number(_("Peak factor"), ESTIMATE_PEAK_MAX, required=False, help_text=_("Multiplies all costs."))

    def __init__(self, params: QueryDict, offers: Sequence[tuple[str, str]]) -> None:
        data = params.dict()
        super().__init__({**BASE, **(data if data else FIRST)})
        self.fields["data_disk_gb"].help_text = gettext("%(size)s GB included.") % {"size": FREE_DATA_DISK_GB}
        field = self.fields["offer"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", _("custom prices")), *offers]

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        if not found.get("offer") and found.get("unit_price") is None and "unit_price" not in self.errors:
            self.add_error("unit_price", _("Enter a price, such as 1.50."))
        return found

    @property
    def query(self) -> dict[str, str]:
        """Return the query that shows the same result, without values that equal the defaults."""
        return {
            name: str(self.data[name])
            for name in self.fields
            if self.data.get(name, "") not in ("", BASE.get(name, "")) or name in ("hours",)
        }
