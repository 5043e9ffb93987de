"""Pages of a host owner's prices: hourly price, all prices, and until when the host stays."""

from datetime import UTC, datetime, time, timedelta

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.web.decorators import SignedInRequest, login_required_page
from common.errors import InvalidInput
from common.http.htmx import render
from common.ids import parse_public_id
from marketplace.hosts.offers import set_listed_until, set_price, set_prices
from marketplace.pricing.selectors import own_offer
from marketplace.web.pricing.forms import PriceFields, QuickPriceForm, UntilForm, initial_prices


@require_POST
@login_required_page
def offer_price(request: SignedInRequest, offer_id: str) -> HttpResponse:
    """Set the hourly price from the row of the offer."""
    form = QuickPriceForm(request.POST)
    try:
        if form.is_valid():
            set_price(actor_id=request.user.pk, offer_id=parse_public_id("offr", offer_id), **form.cleaned_data)
            messages.success(request, _("Price saved. It applies to new rentals; current ones keep their price."))
        else:
            messages.error(request, str(form.errors["price_micros"][0]))
    except InvalidInput:
        messages.error(request, _("The price must be above zero and not below the spot floor price."))
    return redirect("my_hosts")


@login_required_page
def offer_prices(request: SignedInRequest, offer_id: str) -> HttpResponse:
    """Show the form of prices in every mode; a POST saves it and shows the result."""
    offer, saved = own_offer(request.user.pk, parse_public_id("offr", offer_id)), False
    form = PriceFields(request.POST or None, initial=initial_prices(offer))
    if form.is_valid():
        try:
            set_prices(actor_id=request.user.pk, change=form.change(offer.pk))
            saved = True
        except InvalidInput as error:
            form.add_error(None, error.detail)
    context = {"offer": offer, "form": form, "saved": saved}
    return render(request, page="marketplace/offer_prices.html", part="marketplace/_price_form.html", context=context)


@require_POST
@login_required_page
def host_until(request: SignedInRequest, host_id: str) -> HttpResponse:
    """Set the last day of the host, which is included as a whole day in UTC."""
    form = UntilForm(request.POST)
    try:
        if form.is_valid():
            day = form.cleaned_data["until"]
            until = datetime.combine(day, time(), tzinfo=UTC) + timedelta(days=1) if day else None
            set_listed_until(actor_id=request.user.pk, host_id=parse_public_id("host", host_id), until=until)
            messages.success(request, _("Saved. No rental extends past this date."))
    except InvalidInput:
        messages.error(request, _("The date must be in the future, and not before the end of existing rentals."))
    return redirect("my_hosts")
