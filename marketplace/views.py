"""Home, market and offer pages; the host owner's corner."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.shortcuts import render as render_page
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.services.profile import edit_profile
from accounts.signed_in import SignedInRequest, signed_in
from common.htmx import render
from common.ids import parse_public_id
from marketplace.console import home_context, market_context, offer_facts
from marketplace.forms import EnrolForm, MarketForm, PriceForm
from marketplace.selectors import hosts_of
from marketplace.services.join_tokens import issue_join_token
from marketplace.services.offers import set_draining, set_listed, set_price


def home(request: HttpRequest) -> HttpResponse:
    return render_page(request, "marketplace/home.html", home_context())


def market(request: HttpRequest) -> HttpResponse:
    context = market_context(MarketForm(request.GET))
    response = render(request, page="marketplace/market.html", part="marketplace/_market.html", context=context)
    if request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
        response["HX-Push-Url"] = f"{reverse('market')}?{context['query']}".removesuffix("?")
    return response


def offer(request: HttpRequest, offer_id: str) -> HttpResponse:
    facts = offer_facts(parse_public_id("offr", offer_id))
    return render_page(request, "marketplace/offer.html", {"facts": facts, "offer": facts.offer})


@signed_in
def my_hosts(request: SignedInRequest) -> HttpResponse:
    context = {"hosts": hosts_of(request.user.pk), "form": EnrolForm()}
    return render(request, page="marketplace/my_hosts.html", part="marketplace/_hosts.html", context=context)


@require_POST
@signed_in
def become_host_owner(request: SignedInRequest) -> HttpResponse:
    edit_profile(user_id=request.user.pk, is_host_owner=True)
    return redirect("my_hosts")


@require_POST
@signed_in
def enrol_host(request: SignedInRequest) -> HttpResponse:
    """The command with its join token, which is shown this once."""
    form = EnrolForm(request.POST)
    context: dict[str, object] = {"form": form, "site_url": f"{request.scheme}://{request.get_host()}"}
    if form.is_valid():
        context["token"], context["secret"] = issue_join_token(owner=request.user, **form.cleaned_data)
    return render_page(request, "marketplace/_enrol.html", context)


@require_POST
@signed_in
def offer_price(request: SignedInRequest, offer_id: str) -> HttpResponse:
    form = PriceForm(request.POST)
    if form.is_valid():
        set_price(actor_id=request.user.pk, offer_id=parse_public_id("offr", offer_id), **form.cleaned_data)
        messages.success(request, _("The new price holds for new rents; running ones keep theirs."))
    else:
        messages.error(request, str(form.errors["price_micros"][0]))
    return redirect("my_hosts")


@require_POST
@signed_in
def offer_listing(request: SignedInRequest, offer_id: str) -> HttpResponse:
    listed = request.POST.get("listed") == "yes"
    set_listed(actor_id=request.user.pk, offer_id=parse_public_id("offr", offer_id), listed=listed)
    return redirect("my_hosts")


@require_POST
@signed_in
def host_draining(request: SignedInRequest, host_id: str) -> HttpResponse:
    draining = request.POST.get("draining") == "yes"
    set_draining(actor_id=request.user.pk, host_id=parse_public_id("host", host_id), draining=draining)
    return redirect("my_hosts")
