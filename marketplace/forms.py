"""Input of the market's filters and of host owners' pages."""

from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from common.errors import InvalidInput
from common.money import parse_money
from marketplace.selectors import SORTS, OfferFilter

COUNTS: Final = (1, 2, 4, 8)
_VRAM_GB: Final = (12, 16, 24, 40, 48, 80)
_SORTS: Final = (
    ("price", _("Cheapest first")),
    ("-vram", _("Most VRAM first")),
    ("-gpu_free", _("Most free GPUs first")),
)
_KINDS: Final = (("", _("All")), ("no", _("Real")), ("yes", _("Simulated")))


class AnyChoices(forms.MultipleChoiceField):
    """Choices that come from the market: a shared address may name one that is sold out now."""

    def valid_value(self, value: Any) -> bool:
        return True


class MoneyField(forms.CharField):
    """A decimal amount that becomes micro-units; empty becomes None."""

    def __init__(self, **kwargs: Any) -> None:
        attrs = {"inputmode": "decimal", "autocomplete": "off"}
        super().__init__(widget=forms.TextInput(attrs=attrs), max_length=20, **kwargs)

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        try:
            micros = parse_money(text)
        except InvalidInput as error:
            raise forms.ValidationError(_("Write a price such as 1.50.")) from error
        if micros < 0:
            raise forms.ValidationError(_("A price is not negative."))
        return micros


class MarketForm(forms.Form):
    """The filters, as they stand in the address of the page."""

    gpu_count = forms.TypedChoiceField(
        label=_("Number of GPUs"), coerce=int, choices=[(n, str(n)) for n in COUNTS], required=False
    )
    gpu_model = AnyChoices(label=_("GPU model"), required=False)
    region = AnyChoices(label=_("Region"), required=False)
    price_max = MoneyField(label=_("Highest price per GPU-hour"), required=False)
    vram_gb_min = forms.TypedChoiceField(
        label=_("VRAM at least"),
        coerce=int,
        choices=[("", _("Any")), *((size, f"{size} GB") for size in _VRAM_GB)],
        required=False,
    )
    simulated = forms.ChoiceField(label=_("GPUs"), choices=_KINDS, required=False)
    sort = forms.ChoiceField(label=_("Sort by"), choices=_SORTS, required=False)
    cursor = forms.CharField(required=False)

    def wanted(self) -> OfferFilter:
        """What is asked for; a filter that makes no sense is left out, and its field says so."""
        self.full_clean()
        given = self.cleaned_data if self.is_bound else {}
        sort = given.get("sort") or "price"
        return OfferFilter(
            gpu_count=given.get("gpu_count") or 1,
            gpu_model=given.get("gpu_model") or (),
            region=given.get("region") or (),
            price_max=given.get("price_max"),
            vram_gb_min=given.get("vram_gb_min") or None,
            simulated={"yes": True, "no": False}.get(given.get("simulated", "")),
            sort=sort if sort.removeprefix("-") in SORTS else "price",
            cursor=given.get("cursor") or None,
        )


class EnrolForm(forms.Form):
    host_name = forms.CharField(
        label=_("Name of the host"), max_length=80, help_text=_("As renters see it, such as lab-03.")
    )
    region = forms.CharField(label=_("Region"), max_length=40, help_text=_("City or area, such as eu-west or Shanghai."))
    price_micros = MoneyField(label=_("First price per GPU-hour"), help_text=_("You can change it at any time."))


class PriceForm(forms.Form):
    price_micros = MoneyField(label=_("Price per GPU-hour"))
