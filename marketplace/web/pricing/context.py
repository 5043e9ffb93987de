"""Form of a host owner's prices in the host panel."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminDecimalFieldWidget, UnfoldAdminTextInputWidget

from common.http.fields import PlainDecimalField
from common.money import parse_money
from marketplace.hosts.offers import ListingChange
from marketplace.models import Offer
from marketplace.search.messages import LENGTH_LABELS
from marketplace.web.pricing.forms import (
    HOLD_HELP,
    HOLD_LABEL,
    PriceFields,
    TiersField,
    bps_of,
    initial_prices,
    percent_field,
    tiers_of,
)


class PanelPriceForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """All prices of one offer, and whether it is listed."""

    price = PlainDecimalField(
        label=_("Price per GPU-hour"),
        min_value=0,
        max_digits=12,
        decimal_places=6,
        widget=UnfoldAdminDecimalFieldWidget,
        help_text=_("For new rentals. Current rentals keep their price."),
    )
    day, week, month, year, year3 = (
        percent_field(LENGTH_LABELS[term], UnfoldAdminDecimalFieldWidget()) for term in PriceFields.TERMS
    )
    tiers_line = TiersField(
        label=_("Discounts by hours of continuous use"),
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("Hours and % off, such as 720:15, 2160:25."),
    )
    spot_floor = PlainDecimalField(
        label=_("Spot floor price, per GPU"),
        required=False,
        min_value=0,
        max_digits=12,
        decimal_places=6,
        widget=UnfoldAdminDecimalFieldWidget,
        help_text=_("Leave blank to disable spot."),
    )
    disk_gb_day = PlainDecimalField(
        label=_("Data disk, per GB per day"),
        required=False,
        min_value=0,
        max_digits=12,
        decimal_places=6,
        widget=UnfoldAdminDecimalFieldWidget,
        help_text=_("Above the free allowance. Leave blank for free."),
    )
    hold = percent_field(HOLD_LABEL, UnfoldAdminDecimalFieldWidget(), most=100, help_text=HOLD_HELP)

    class Meta:
        model = Offer
        fields: ClassVar[list[str]] = ["listed"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        typed = initial_prices(self.instance)
        self.initial.update(typed, price=typed["price_micros"], tiers_line=typed["tiers"])

    def change(self) -> ListingChange:
        found = self.cleaned_data
        return ListingChange(
            self.instance.pk,
            price_micros=_micros(found["price"]),
            listed=found["listed"],
            reserved_discounts=_terms(found),
            tiers=tiers_of(found["tiers_line"]),
            spot_floor_micros=_micros(found["spot_floor"]),
            disk_micros_gb_day=_micros(found["disk_gb_day"]),
            hold_bps=bps_of(found["hold"] or Decimal(0)),
        )


def _terms(found: Mapping[str, Any]) -> dict[str, int | None]:
    return {term: None if found[term] is None else bps_of(found[term]) for term in PriceFields.TERMS}


def _micros(amount: Decimal | None) -> int:
    return 0 if amount is None else parse_money(f"{amount:f}")
