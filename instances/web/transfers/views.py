"""Pages that clone or migrate an instance."""

from collections.abc import Callable
from typing import Final

from django.http import HttpResponse
from django.shortcuts import redirect
from django.shortcuts import render as render_page
from django.views.decorators.http import require_POST

from accounts.web.decorators import SignedInRequest, login_required_page
from common.errors import DomainError
from common.ids import parse_public_id, public_id
from instances.core.selectors import instance_of
from instances.models import Instance
from instances.transfers.completion import cancel_transfer
from instances.transfers.start import clone_instance, migrate_instance, quote_transfer
from instances.web.responses import refresh_or_redirect
from instances.web.transfers.context import destinations_for
from instances.web.transfers.forms import InstanceTransferForm

_VERBS: Final[dict[str, Callable[..., Instance]]] = {"clone": clone_instance, "migrate": migrate_instance}


def _bound_form(request: SignedInRequest, instance_id: str, verb: str) -> tuple[Instance, InstanceTransferForm]:
    instance = instance_of(request.user, parse_public_id("inst", instance_id))
    first = {"offer": request.GET.get("offer", public_id("offr", instance.offer_id) if verb == "clone" else "")}
    return instance, InstanceTransferForm(
        request.POST if request.method == "POST" else None, initial=first, verb=verb, instance=instance
    )


@login_required_page
def instance_move(request: SignedInRequest, instance_id: str, verb: str) -> HttpResponse:
    """Show the choices, or clone or migrate as posted."""
    (instance, form), fault = _bound_form(request, instance_id, verb), None
    if form.is_valid():
        try:
            made = _VERBS[verb](renter=request.user, instance_id=instance.pk, **form.order)
            return redirect("instance", public_id("inst", made.pk))
        except DomainError as error:
            fault = error
    places = destinations_for(instance, verb=verb) if verb in instance.actions else []
    context = {"it": instance, "form": form, "verb": verb, "places": places, "refused": fault}
    return render_page(request, "instances/move.html", context, status=fault.status if fault else 200)


@require_POST
@login_required_page
def instance_move_quote(request: SignedInRequest, instance_id: str, verb: str) -> HttpResponse:
    """Show what the present choices would cost."""
    instance, form = _bound_form(request, instance_id, verb)
    context: dict[str, object] = {"it": instance, "form": form, "verb": verb}
    try:
        if form.is_valid():
            own, disk = instance.pk, form.with_disk
            context["quote"] = quote_transfer(renter=request.user, instance_id=own, verb=verb, to=form.to, data_disk=disk)
    except DomainError as error:
        context["refused"] = error
    return render_page(request, "instances/_move_bill.html", context)


@require_POST
@login_required_page
def instance_move_cancel(request: SignedInRequest, instance_id: str) -> HttpResponse:
    cancel_transfer(renter=request.user, instance_id=parse_public_id("inst", instance_id))
    return refresh_or_redirect(request, "instance", instance_id)
