"""The console's pages of renting and of instances."""

from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.shortcuts import render as render_page
from django.views.decorators.http import require_POST

from accounts.selectors import ssh_keys_of
from accounts.services.ssh_keys import add_ssh_key
from accounts.signed_in import SignedInRequest, signed_in
from common.errors import DomainError
from common.htmx import render
from common.ids import parse_public_id, public_id
from common.money import parse_money
from instances.console import graphs_of, instance_context, list_context
from instances.forms import NameForm, RentForm
from instances.models import Instance
from instances.services.quote import create_quote
from instances.services.release import release_instance
from instances.services.rename import rename_instance
from instances.services.rent import rent_instance
from instances.services.restart import restart_instance
from instances.services.start import start_instance
from instances.services.stop import stop_instance
from marketplace.selectors import OfferView, offer_view
from storage.selectors import active_images

_VERBS: Final[dict[str, Callable[..., Instance]]] = {
    "start": start_instance,
    "stop": stop_instance,
    "restart": restart_instance,
    "release": release_instance,
}


def _offer(offer_id: str) -> OfferView:
    return offer_view(parse_public_id("offr", offer_id))


def _rent_form(request: SignedInRequest, offer: OfferView) -> RentForm:
    """Bound to what was sent; on a first visit to the address's choices."""
    keys, images = ssh_keys_of(request.user, None), list(active_images())
    bound = request.POST if request.method == "POST" else None
    initial = {"gpu_count": request.GET["gpu_count"]} if request.GET.get("gpu_count", "").isdigit() else {}
    return RentForm(bound, initial=initial, gpu_total=offer.gpu_total, images=images, keys=keys)


@signed_in
def rent(request: SignedInRequest, offer_id: str) -> HttpResponse:
    """The choices; sent, the order. What goes wrong is said above the choices, which stay as they were."""
    offer, fault = _offer(offer_id), None
    form = _rent_form(request, offer)
    if form.is_valid():
        try:
            order = {"name": form.cleaned_data["name"], "ssh_key_ids": form.key_ids}
            rented = rent_instance(renter=request.user, quote_id=form.quote_id_given, **order)
            return redirect("instance", public_id("inst", rented.pk))
        except DomainError as error:
            fault = error
    context = {"offer": offer, "form": form, "refused": fault}
    return render_page(request, "instances/rent.html", context, status=fault.status if fault else 200)


@require_POST
@signed_in
def rent_quote(request: SignedInRequest, offer_id: str) -> HttpResponse:
    """The all-in price of the present choices."""
    offer = _offer(offer_id)
    context: dict[str, object] = {}
    form = _rent_form(request, offer)
    try:
        if form.is_valid():
            context["quote"] = create_quote(renter=request.user, offer_id=offer.id, **form.wishes)
    except DomainError as error:
        context["refused"] = error
    return render_page(request, "instances/_bill.html", {"offer": offer, "form": form, **context})


@require_POST
@signed_in
def rent_key(request: SignedInRequest, offer_id: str) -> HttpResponse:
    """A key added while renting; the choice of keys comes back with it."""
    context: dict[str, object] = {"offer": _offer(offer_id)}
    try:
        added = add_ssh_key(user=request.user, name="", public_key=request.POST.get("new_public_key", ""))
        context["added"] = public_id("key", added.pk)
    except DomainError as error:
        context["refused"], context["typed"] = error, request.POST.get("new_public_key", "")
    context["form"] = _rent_form(request, _offer(offer_id))
    return render_page(request, "instances/_keys.html", context)


@signed_in
def instances(request: SignedInRequest) -> HttpResponse:
    context = list_context(request.user, gone=request.GET.get("gone") == "1", page=request.GET.get("page"))
    return render(request, page="instances/instances.html", part="instances/_list.html", context=context)


@signed_in
def instance(request: SignedInRequest, instance_id: str) -> HttpResponse:
    context = instance_context(request.user, parse_public_id("inst", instance_id))
    return render(request, page="instances/instance.html", part="instances/_instance.html", context=context)


@signed_in
def instance_use(request: SignedInRequest, instance_id: str) -> HttpResponse:
    return JsonResponse(graphs_of(request.user, parse_public_id("inst", instance_id)))


@require_POST
@signed_in
def instance_act(request: SignedInRequest, instance_id: str, verb: str) -> HttpResponse:
    wishes = {"max_rate_micros": parse_money(request.POST["max_rate"])} if "max_rate" in request.POST else {}
    _VERBS[verb](renter=request.user, instance_id=parse_public_id("inst", instance_id), **wishes)
    return _changed(request, instance_id)


@require_POST
@signed_in
def instance_rename(request: SignedInRequest, instance_id: str) -> HttpResponse:
    form = NameForm(request.POST)
    if form.is_valid():
        rename_instance(renter=request.user, instance_id=parse_public_id("inst", instance_id), **form.cleaned_data)
    return _changed(request, instance_id)


def _changed(request: HttpRequest, instance_id: str) -> HttpResponse:
    """htmx looks at its live part again; a browser without it goes to the instance's page."""
    if request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
        return HttpResponse(status=204, headers={"HX-Trigger": "changed"})
    return redirect("instance", instance_id)
