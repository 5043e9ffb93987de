"""Template contexts of spot: the chances of a bid in words, and the form that changes one."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from common.http.fields import PlainDecimalField
from common.money import format_money, parse_money
from instances.core.selectors import bids_of, instance_of
from instances.models import Instance
from instances.spot.bid_forecast import forecast_bid
from marketplace.constants import MAX_GPUS_PER_HOST, PRICE_MICROS_MAX
from marketplace.spot_market.selectors import spot_lately
from marketplace.web.spot_market.charts import spot_chart

CHANCES: Final[Mapping[str, str | Promise]] = {
    "below_floor": _("Below the floor price: no GPUs at this price."),
    "too_many": _("Full-price rentals currently hold too many GPUs, so this bid would wait."),
    "none": _("In the last 24 hours, this price would never have run."),
    "some": _("In the last 24 hours, this price would have run a small part of the time."),
    "half": _("In the last 24 hours, this price would have run about half of the time."),
    "most": _("In the last 24 hours, this price would have run most of the time."),
    "all": _("In the last 24 hours, this price would have run all the time."),
}


class BidForm(forms.Form):
    """The most per GPU and hour."""

    max_price = PlainDecimalField(label=_("Max price per GPU-hour"), min_value=0, max_digits=12, decimal_places=6)

    @property
    def max_micros(self) -> int:
        return parse_money(f"{self.cleaned_data['max_price']:f}")


class BidForecastForm(BidForm):
    """A bid to be forecast; unreadable values are ignored."""

    gpu_count = forms.IntegerField(min_value=1, max_value=MAX_GPUS_PER_HOST, required=False)


def bid_forecast_context(offer_id: UUID, params: Mapping[str, Any], own: Instance | None = None) -> dict[str, Any]:
    """Return the context of the market and of the bid in `params`, or raise NotFound."""
    form = BidForecastForm(params)
    context: dict[str, Any] = {"lately": spot_lately(offer_id)}
    if form.is_valid() and form.max_micros <= PRICE_MICROS_MAX:
        count = own.gpu_count if own else form.cleaned_data["gpu_count"] or 1
        found = forecast_bid(offer_id, gpu_count=count, max_micros=form.max_micros, own=own.pk if own else None)
        context |= {"outlook": found, "chance": CHANCES[found.chance]}
    return context


def bid_context(renter: User, instance_id: UUID, params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the context of the form that changes a bid, or raise NotFound.

    With `params` None, it shows the present bid.
    """
    instance = instance_of(renter, instance_id)
    typed = params or {"max_price": format_money(instance.spot_max_micros or 0)}
    offer = instance.offer
    return {
        "instance": instance,
        "bid": next(iter(bids_of([instance.pk])), None),
        "form": BidForm(params, initial=dict(typed)),
        "typed": typed.get("max_price", ""),
        "chart": spot_chart(offer.pk, floor_micros=offer.spot_floor_micros),
        **bid_forecast_context(offer.pk, typed, own=instance),
    }
