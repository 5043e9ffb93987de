"""Pages of spot: the forecast of a bid, and the form that changes one."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render as render_page
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.web.decorators import SignedInRequest, login_required_page
from common.errors import DomainError
from common.http.htmx import render
from common.ids import parse_public_id
from instances.spot.bid_changes import change_bid, withdraw_bid
from instances.web.responses import redirect_to
from instances.web.spot.context import bid_context, bid_forecast_context


def spot_outlook(request: HttpRequest, offer_id: str) -> HttpResponse:
    """Show what a bid would come to; like the price history it needs no login."""
    context = bid_forecast_context(parse_public_id("offr", offer_id), request.GET)
    return render_page(request, "instances/_spot_outlook.html", context)


@login_required_page
def bid(request: SignedInRequest, instance_id: str) -> HttpResponse:
    """Show the form, with `max_price` in the address its forecast, or change the bid as posted."""
    key = parse_public_id("inst", instance_id)
    if request.method == "POST":
        return _change(request, instance_id)
    context = bid_context(request.user, key, request.GET if "max_price" in request.GET else None)
    part = "instances/_spot_outlook.html" if "outlook" in request.GET else "instances/_bid_form.html"
    return render(request, page="instances/bid.html", part=part, context=context)


def _change(request: SignedInRequest, instance_id: str) -> HttpResponse:
    key = parse_public_id("inst", instance_id)
    context = bid_context(request.user, key, request.POST)
    form = context["form"]
    try:
        if form.is_valid():
            change_bid(renter=request.user, instance_id=key, max_price_micros=form.max_micros)
            messages.success(request, _("Max price changed. The instance keeps running."))
            return redirect_to(request, "instance", instance_id)
    except DomainError as error:
        context["refused"] = error
    return render(request, page="instances/bid.html", part="instances/_bid_form.html", context=context)


@require_POST
@login_required_page
def bid_withdraw(request: SignedInRequest, instance_id: str) -> HttpResponse:
    withdraw_bid(renter=request.user, instance_id=parse_public_id("inst", instance_id))
    return redirect_to(request, "instance", instance_id)
