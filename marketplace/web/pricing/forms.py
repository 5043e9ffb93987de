"""Forms of a host owner's prices, and the field of steps that the calculator shares."""

from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Final
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _

from common.http.fields import DayField, DecimalInput, PlainDecimalField
from common.money import format_money
from marketplace.constants import MAX_DISCOUNT_BPS, MAX_TIERS, TIER_HOURS_MAX
from marketplace.hosts.offers import ListingChange
from marketplace.models import Offer
from marketplace.search.messages import LENGTH_LABELS
from marketplace.web.forms import MoneyField

_BPS_PER_PERCENT: Final = 100
_BPS: Final = 10_000
_PERCENT: Final = 100
_STEP_PARTS: Final = 2
_DIGITS: Final = 13

HOLD_LABEL: Final = _("Fee for kept GPUs, % of the on-demand price")
HOLD_HELP: Final = _(
    "Charged when a renter stops and keeps the GPUs; no one else can rent them meanwhile. Leave blank for free."
)

Step = tuple[Fraction, Fraction]


class TiersField(forms.CharField):
    """Steps such as "720:15, 2160:25": hours and percent off, rising.

    They are converted to pairs of hours and share.
    """

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        parts = [part for part in text.replace("%", "").replace("，", ",").replace("：", ":").split(",") if part.strip()]
        try:
            steps = [_step(part) for part in parts]
        except ValueError as error:
            raise forms.ValidationError(_("Enter steps, such as 720:15, 2160:25 (hours and % off).")) from error
        hours = [start for start, _share in steps]
        if hours != sorted(set(hours)) or len(steps) > MAX_TIERS:
            raise forms.ValidationError(_("Each step must start later than the previous one. At most ten steps."))
        return steps


def _step(text: str) -> Step:
    parts = [part.strip() for part in text.split(":")]
    if len(parts) != _STEP_PARTS or not all(_is_plain(part) for part in parts):
        raise ValueError(text)
    hours, percent = Fraction(parts[0]), Fraction(parts[1])
    if not (0 < hours <= TIER_HOURS_MAX and 0 <= percent < _PERCENT):
        raise ValueError(text)
    return hours, percent / _PERCENT


def _is_plain(text: str) -> bool:
    digits = text.replace(".", "", 1)
    return digits.isascii() and digits.isdigit() and len(text) <= _DIGITS


def tiers_text(tiers: list[list[int]]) -> str:
    """Return steps as the field reads them: [[720, 1500]] is "720:15"."""
    return ", ".join(f"{hours}:{percent_text(off_bps)}" for hours, off_bps in tiers)


def percent_text(off_bps: int) -> str:
    return f"{off_bps / _BPS_PER_PERCENT:.2f}".rstrip("0").rstrip(".")


def percent_field(
    label: Any, widget: forms.Widget | None = None, *, most: int = MAX_DISCOUNT_BPS // _BPS_PER_PERCENT, help_text: Any = ""
) -> PlainDecimalField:
    return PlainDecimalField(
        label=label,
        required=False,
        min_value=0,
        max_value=most,
        max_digits=len(str(most)) + 2,
        decimal_places=2,
        widget=widget or DecimalInput(),
        help_text=help_text,
    )


class PriceFields(forms.Form):
    """Prices in every mode.

    Fields that are not sent stay; a field that is sent empty ends its term, the steps or the spot market.
    """

    price_micros = MoneyField(label=_("On-demand, per GPU"))
    day = percent_field(LENGTH_LABELS["day"])
    week = percent_field(LENGTH_LABELS["week"])
    month = percent_field(LENGTH_LABELS["month"])
    year = percent_field(LENGTH_LABELS["year"])
    year3 = percent_field(LENGTH_LABELS["year3"])
    tiers = TiersField(
        label=_("Discounts by hours of continuous use"),
        required=False,
        help_text=_("Hours and % off, such as 720:15, 2160:25."),
    )
    spot_floor = MoneyField(
        label=_("Spot floor price, per GPU"), required=False, help_text=_("Leave blank to disable spot.")
    )
    disk_gb_day = MoneyField(
        label=_("Data disk, per GB per day"), required=False, help_text=_("Above the free allowance. Leave blank for free.")
    )
    hold = percent_field(HOLD_LABEL, most=_PERCENT, help_text=HOLD_HELP)

    TERMS: ClassVar = ("day", "week", "month", "year", "year3")

    def clean(self) -> dict[str, Any]:
        found = super().clean() or {}
        price, floor = found.get("price_micros"), found.get("spot_floor")
        if price == 0:
            self.add_error("price_micros", _("Enter a price above zero."))
        if price is not None and floor is not None and not 0 < floor <= price:
            self.add_error("spot_floor", _("The floor price must be above zero and no higher than the on-demand price."))
        self._check_steps(found.get("tiers") or [])
        return found

    def _check_steps(self, steps: list[Step]) -> None:
        discounts = [share * _BPS for _hours, share in steps]
        whole = all(value.denominator == 1 for value in (*discounts, *(hours for hours, _share in steps)))
        rising = discounts == sorted(set(discounts)) and all(0 < off_bps <= MAX_DISCOUNT_BPS for off_bps in discounts)
        if not (whole and rising):
            self.add_error("tiers", _("Use whole hours. Each discount must be larger than the previous one, at most 90%."))

    def change(self, offer_id: UUID) -> ListingChange:
        """Return the sent changes of a valid form."""
        sent = {name: value for name, value in self.cleaned_data.items() if name in self.data}
        terms = {name: None if sent[name] is None else bps_of(sent[name]) for name in self.TERMS if name in sent}
        steps = sent.get("tiers")
        return ListingChange(
            offer_id,
            price_micros=sent.get("price_micros"),
            reserved_discounts=terms or None,
            tiers=None if steps is None else tiers_of(steps),
            spot_floor_micros=(sent["spot_floor"] or 0) if "spot_floor" in sent else None,
            disk_micros_gb_day=(sent["disk_gb_day"] or 0) if "disk_gb_day" in sent else None,
            hold_bps=bps_of(sent["hold"] or Decimal(0)) if "hold" in sent else None,
        )


def tiers_of(steps: list[Step]) -> list[tuple[int, int]]:
    """Return hours and basis points."""
    return [(int(hours), int(share * _BPS)) for hours, share in steps]


def bps_of(percent: Decimal) -> int:
    return int(percent * _BPS_PER_PERCENT)


def initial_prices(offer: Offer) -> dict[str, str]:
    """Return the initial values of the form."""
    return {
        "price_micros": format_money(offer.price_micros),
        **{term: percent_text(off_bps) for term, off_bps in offer.reserved_discounts.items()},
        "tiers": tiers_text(offer.tiers),
        "spot_floor": "" if offer.spot_floor_micros is None else format_money(offer.spot_floor_micros),
        "disk_gb_day": format_money(offer.disk_micros_gb_day),
        "hold": percent_text(offer.hold_bps),
    }


class QuickPriceForm(forms.Form):
    """Form of the hourly price only."""

    price_micros = MoneyField(label=_("Price per GPU-hour"))


class UntilForm(forms.Form):
    """Last day of a host on the market; empty means that no end is planned."""

    until = DayField(label=_("Available through"), required=False)
