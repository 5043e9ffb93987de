"""Home, market, offer and comparison pages, and saved searches."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.shortcuts import render as render_page
from django.views.decorators.http import require_POST

from accounts.web.decorators import SignedInRequest, login_required_page
from accounts.web.throttling import check_page_search
from common.errors import DomainError
from common.http.htmx import render
from common.ids import parse_public_id
from marketplace.search.saved_searches import delete_search, save_search, saved_searches_of
from marketplace.web.search.comparison import (
    compare_address,
    compare_context,
    picks_of,
    read_ids,
    remove_pick,
    toggle_pick,
    tray_context,
)
from marketplace.web.search.context import Images, address_of, help_context, market_context
from marketplace.web.search.home_context import home_context
from marketplace.web.search.offer_context import offer_context


def home(request: HttpRequest) -> HttpResponse:
    return render_page(request, "marketplace/home.html", home_context())


def market(request: HttpRequest, images: Images) -> HttpResponse:
    """Show the market page.

    A search that cannot be parsed leaves the rows as they are: htmx shows only the error below the line.
    """
    check_page_search(request)
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
    """Show the comparison of the offers in the URL, else of those that this visitor has picked."""
    ids = read_ids(request.GET["ids"]) if "ids" in request.GET else picks_of(request.session)
    return render_page(request, "marketplace/compare.html", compare_context(ids, request.GET))


@require_POST
def compare_pick(request: HttpRequest) -> HttpResponse:
    """Add an offer to the comparison or remove it."""
    had_room = toggle_pick(request.session, request.POST.get("offer", ""))
    if not request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
        return redirect("compare")
    tray = tray_context(picks_of(request.session), full=not had_room)
    return render_page(request, "marketplace/_compare_tray.html", {"tray": tray})


@login_required_page
def saved_searches(request: SignedInRequest) -> HttpResponse:
    """Show the saved searches as a part of the market's page; a POST saves another one."""
    context: dict[str, object] = {"line": request.POST.get("line", request.GET.get("line", ""))}
    try:
        if request.method == "POST":
            context["kept"] = save_search(user=request.user, name=request.POST.get("name", ""), line=str(context["line"]))
    except DomainError as error:
        context["refused"] = error
    context["searches"] = saved_searches_of(request.user.pk)
    return render_page(request, "marketplace/_saved_list.html", context)


@require_POST
@login_required_page
def saved_search_delete(request: SignedInRequest, search_id: str) -> HttpResponse:
    delete_search(user_id=request.user.pk, search_id=parse_public_id("srch", search_id))
    context = {"searches": saved_searches_of(request.user.pk), "line": request.POST.get("line", "")}
    return render_page(request, "marketplace/_saved_list.html", context)


@require_POST
def compare_drop(request: HttpRequest) -> HttpResponse:
    rest = remove_pick(request.session, request.POST.get("offer", ""), read_ids(request.POST.get("ids", "")))
    return redirect(compare_address(rest))
