"""Home, market, offer and comparison pages; the host owner's corner."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.shortcuts import render as render_page
from django.views.decorators.http import require_POST

from accounts.services.profile import edit_profile
from accounts.signed_in import SignedInRequest, signed_in
from common.agent_release import enrol_command, served_release
from common.errors import DomainError
from common.htmx import render
from common.ids import parse_public_id
from marketplace.console import (
    Images,
    address_of,
    compare_address,
    compare_context,
    drop_pick,
    help_context,
    home_context,
    market_context,
    offer_context,
    picks_of,
    read_ids,
    toggle_pick,
    tray_context,
)
from marketplace.forms import EnrolForm
from marketplace.selectors import hosts_of
from marketplace.selectors.saved_searches import saved_searches_of
from marketplace.services.join_tokens import issue_join_token
from marketplace.services.offers import set_draining, set_listed
from marketplace.services.saved_searches import delete_search, save_search


def home(request: HttpRequest) -> HttpResponse:
    return render_page(request, "marketplace/home.html", home_context())


def market(request: HttpRequest, images: Images) -> HttpResponse:
    """A search that cannot be read leaves the rows as they are: htmx puts the fault below the line alone."""
    picks = picks_of(request.session)
    context = market_context(request.GET, images, picks)
    refused, is_part = "refused" in context, bool(request.htmx)  # type: ignore[attr-defined]  # set by HtmxMiddleware
    if refused and is_part:
        fault = render_page(request, "marketplace/_line_fault.html", context)
        fault["HX-Retarget"], fault["HX-Reswap"], fault["HX-Trigger"] = "#line-fault", "innerHTML", "line-refused"
        return fault
    context |= {"tray": lambda: tray_context(picks), **help_context()}
    response = render(request, page="marketplace/market.html", part="marketplace/_market.html", context=context)
    response.status_code = 400 if refused else 200
    if is_part:
        response["HX-Push-Url"] = address_of(context)
    return response


def offer(request: HttpRequest, offer_id: str) -> HttpResponse:
    picks = picks_of(request.session)
    context = offer_context(parse_public_id("offr", offer_id), request.GET, picks)
    return render_page(request, "marketplace/offer.html", {**context, "tray": lambda: tray_context(picks)})


def compare(request: HttpRequest) -> HttpResponse:
    """The offers that the address names, else those that this visitor has picked."""
    ids = read_ids(request.GET["ids"]) if "ids" in request.GET else picks_of(request.session)
    return render_page(request, "marketplace/compare.html", compare_context(ids, request.GET))


@require_POST
def compare_pick(request: HttpRequest) -> HttpResponse:
    """Take an offer in or out of the comparison."""
    had_room = toggle_pick(request.session, request.POST.get("offer", ""))
    if not request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
        return redirect("compare")
    tray = tray_context(picks_of(request.session), full=not had_room)
    return render_page(request, "marketplace/_compare_tray.html", {"tray": tray})


@signed_in
def saved_searches(request: SignedInRequest) -> HttpResponse:
    """The kept searches as a part of the market's page; sent, one more of them."""
    context: dict[str, object] = {"line": request.POST.get("line", request.GET.get("line", ""))}
    try:
        if request.method == "POST":
            context["kept"] = save_search(user=request.user, name=request.POST.get("name", ""), line=str(context["line"]))
    except DomainError as error:
        context["refused"] = error
    context["searches"] = saved_searches_of(request.user.pk)
    return render_page(request, "marketplace/_saved_list.html", context)


@require_POST
@signed_in
def saved_search_delete(request: SignedInRequest, search_id: str) -> HttpResponse:
    delete_search(user_id=request.user.pk, search_id=parse_public_id("srch", search_id))
    context = {"searches": saved_searches_of(request.user.pk), "line": request.POST.get("line", "")}
    return render_page(request, "marketplace/_saved_list.html", context)


@require_POST
def compare_drop(request: HttpRequest) -> HttpResponse:
    rest = drop_pick(request.session, request.POST.get("offer", ""), read_ids(request.POST.get("ids", "")))
    return redirect(compare_address(rest))


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
    context: dict[str, object] = {"form": form, "takes_behind_nat": settings.RELAY_TCP_PORTS is not None}
    if form.is_valid():
        context["token"], secret = issue_join_token(owner=request.user, **form.cleaned_data)
        context["secret"], context["installs"] = secret, served_release() is not None
        context["command"] = enrol_command(f"{request.scheme}://{request.get_host()}", secret)
    return render_page(request, "marketplace/_enrol.html", context)


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
