"""Pages of renting, of instances and of the wait list."""

from collections.abc import Callable
from typing import Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.shortcuts import render as render_page
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.selectors import ssh_keys_of
from accounts.ssh_keys.services import add_ssh_key
from accounts.web.decorators import SignedInRequest, login_required_page
from billing.people.self_rental import payable_money_of
from common.errors import DomainError
from common.http.htmx import render
from common.ids import parse_public_id, public_id
from common.money import parse_money
from instances.enforcement.fault_reports import report_fault
from instances.launch.templates import find_template
from instances.lifecycle.start import restart_instance, start_instance
from instances.lifecycle.start_cpu_only import start_without_gpu
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.orders.quotes import create_quote, quote_with_launch
from instances.orders.rent import rent_instance
from instances.release.services import release_instance
from instances.schedules.settings import rename_instance
from instances.wait_list.wait_list import cancel_entry, create_entry
from instances.web.context import instance_context, list_context
from instances.web.orders.context import calculator_query, first_choices, other_modes, rent_images
from instances.web.orders.forms import NameForm, RentForm
from instances.web.pricing.context import calculator_context
from instances.web.responses import refresh_or_redirect
from instances.web.volumes.context import free_volumes, sets_on_host
from instances.web.volumes.transfer_context import movable_volumes
from instances.web.wait_list.context import entry_form, preview_context, wait_list_context
from marketplace.leasing.offer_selectors import OfferView, offer_view
from storage.images.resolve import current_image

_VERBS: Final[dict[str, Callable[..., Instance]]] = {
    "start": start_instance,
    "start_cpu": start_without_gpu,
    "stop": stop_instance,
    "restart": restart_instance,
    "release": release_instance,
}


def _offer(offer_id: str) -> OfferView:
    return offer_view(parse_public_id("offr", offer_id))


def _rent_form(request: SignedInRequest, offer: OfferView) -> RentForm:
    """Return the form, bound to what was posted, or on a first visit filled from the address."""
    named = request.POST.get("template", "") or request.GET.get("template", "")
    template = find_template(request.user, named) if named else None
    image = _image_of(request) or (template.image if template else "")
    keys, images = ssh_keys_of(request.user, None), rent_images(request.user, offer, image)
    bound = request.POST if request.method == "POST" else None
    form = RentForm(bound, initial=first_choices(request.GET), offer=offer, images=images, keys=keys)
    form.use_template(template, named)
    coming = movable_volumes(request.user, offer.host_id)
    form.set_mount_choices(free_volumes(request.user, offer.host_id), sets_on_host(offer.host_id), coming)
    return form


def _image_of(request: HttpRequest) -> str:
    return request.POST.get("image", "") or request.GET.get("image", "")


def calculator(request: HttpRequest) -> HttpResponse:
    """Show the calculator; it needs no login.

    A part's response replaces the address in the browser by one that leads to the same result.
    """
    context = calculator_context(request.GET)
    response = render(request, page="instances/calculator.html", part="instances/_calculator.html", context=context)
    if request.htmx and "query" in context:  # type: ignore[attr-defined]  # set by HtmxMiddleware
        response["HX-Replace-Url"] = f"{reverse('calculator')}?{context['query']}"
    return response


@login_required_page
def rent(request: SignedInRequest, offer_id: str) -> HttpResponse:
    """Show the rental form, or rent with what was posted; errors are shown above the unchanged form."""
    offer, fault = _offer(offer_id), None
    form = _rent_form(request, offer)
    if form.is_valid():
        try:
            quote = quote_with_launch(renter=request.user, quote_id=form.quote_id_given, launch=form.launch)
            rented = rent_instance(renter=request.user, quote_id=quote.pk, **form.order)
            return redirect("instance", public_id("inst", rented.pk))
        except DomainError as error:
            fault = error
    context = {"offer": offer, "form": form, "refused": fault}
    return render_page(request, "instances/rent.html", context, status=fault.status if fault else 200)


@require_POST
@login_required_page
def rent_quote(request: SignedInRequest, offer_id: str) -> HttpResponse:
    """Show the all-in price of the present choices."""
    offer = _offer(offer_id)
    context: dict[str, object] = {}
    form = _rent_form(request, offer)
    try:
        if form.is_valid():
            current_image(user=request.user, text=form.quote_options["image"])
            context["quote"] = create_quote(renter=request.user, offer_id=offer.id, **form.quote_options)
            context["pays_host"] = payable_money_of(payer_id=request.user.pk, owner_id=offer.owner_id)
            context["modes"], context["query"] = (
                other_modes(offer, form.quote_options),
                calculator_query(offer, form.quote_options),
            )
    except DomainError as error:
        context["refused"] = error
    return render_page(request, "instances/_bill.html", {"offer": offer, "form": form, **context})


@require_POST
@login_required_page
def rent_key(request: SignedInRequest, offer_id: str) -> HttpResponse:
    """Add an SSH key while renting, and show the choice of keys again."""
    context: dict[str, object] = {"offer": _offer(offer_id)}
    try:
        added = add_ssh_key(user=request.user, name="", public_key=request.POST.get("new_public_key", ""))
        context["added"] = public_id("key", added.pk)
    except DomainError as error:
        context["refused"], context["typed"] = error, request.POST.get("new_public_key", "")
    context["form"] = _rent_form(request, _offer(offer_id))
    return render_page(request, "instances/_keys.html", context)


@login_required_page
def instances(request: SignedInRequest) -> HttpResponse:
    context = list_context(request.user, gone=request.GET.get("gone") == "1", page=request.GET.get("page"))
    return render(request, page="instances/instances.html", part="instances/_list.html", context=context)


@login_required_page
def instance(request: SignedInRequest, instance_id: str) -> HttpResponse:
    context = instance_context(request.user, parse_public_id("inst", instance_id))
    return render(request, page="instances/instance.html", part="instances/_instance.html", context=context)


@require_POST
@login_required_page
def instance_act(request: SignedInRequest, instance_id: str, verb: str) -> HttpResponse:
    options: dict[str, object] = {"hold": True} if verb == "stop" and request.POST.get("hold") else {}
    options |= {"max_rate_micros": parse_money(request.POST["max_rate"])} if "max_rate" in request.POST else {}
    options |= {"wait": True} if verb == "start" and request.POST.get("wait") else {}
    _VERBS[verb](renter=request.user, instance_id=parse_public_id("inst", instance_id), **options)
    return refresh_or_redirect(request, "instance", instance_id)


@require_POST
@login_required_page
def instance_rename(request: SignedInRequest, instance_id: str) -> HttpResponse:
    form = NameForm(request.POST)
    if form.is_valid():
        rename_instance(renter=request.user, instance_id=parse_public_id("inst", instance_id), **form.cleaned_data)
    return refresh_or_redirect(request, "instance", instance_id)


@require_POST
@login_required_page
def instance_report(request: SignedInRequest, instance_id: str) -> HttpResponse:
    """Report that the instance does not work although its host says that it runs."""
    detail = request.POST.get("detail", "")
    report_fault(renter=request.user, instance_id=parse_public_id("inst", instance_id), detail=detail)
    return refresh_or_redirect(request, "instance", instance_id)


@login_required_page
def watches(request: SignedInRequest) -> HttpResponse:
    """Show the user's wait list, or add what was posted; errors are shown in the unchanged form."""
    if request.method == "POST":
        return _create_entry(request)
    context = wait_list_context(request.user, request.GET.get("page"))
    return render(request, page="instances/watches.html", part="instances/_watches.html", context=context)


def _create_entry(request: SignedInRequest) -> HttpResponse:
    form, fault = entry_form(request.user, request.POST, ""), None
    try:
        if form.is_valid():
            create_entry(user=request.user, **form.place)
            messages.success(request, _("You joined the waitlist"))
            return _redirect_to(request, "watches")
    except DomainError as error:
        fault = error
    context = {"form": form, "refused": fault}
    return render(request, page="instances/watch_new.html", part="instances/_watch_form.html", context=context)


@login_required_page
def watch_new(request: SignedInRequest) -> HttpResponse:
    """Show the form for an entry, filled from the search line in `q`, as a page or as part of a dialog."""
    context = {"form": entry_form(request.user, None, request.GET.get("q", ""))}
    return render(request, page="instances/watch_new.html", part="instances/_watch_form.html", context=context)


@require_POST
@login_required_page
def watch_preview(request: SignedInRequest) -> HttpResponse:
    """Show what the entry would hold, and which offers match right now."""
    context = preview_context(request.user, entry_form(request.user, request.POST, ""))
    return render_page(request, "instances/_watch_preview.html", context)


@require_POST
@login_required_page
def watch_cancel(request: SignedInRequest, watch_id: str) -> HttpResponse:
    cancel_entry(user=request.user, watch_id=parse_public_id("watch", watch_id))
    if request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
        return HttpResponse(status=204, headers={"HX-Trigger": "changed"})
    return redirect("watches")


def _redirect_to(request: HttpRequest, name: str) -> HttpResponse:
    """Make htmx leave the page, or redirect a browser without it."""
    if request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
        return HttpResponse(status=204, headers={"HX-Redirect": reverse(name)})
    return redirect(name)
