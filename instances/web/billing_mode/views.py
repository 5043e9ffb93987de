"""Pages that change the billing mode of an instance and the automatic renewal of its term."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.shortcuts import render as render_page
from django.views.decorators.http import require_POST

from accounts.web.decorators import SignedInRequest, login_required_page
from billing.people.self_rental import payable_money_of
from common import clock
from common.errors import DomainError
from common.ids import parse_public_id
from instances.billing_mode.change_quotes import quote_change
from instances.billing_mode.convert import convert_instance, extend_instance
from instances.core.selectors import instance_of
from instances.metering.costs import cost_of
from instances.models import Instance
from instances.web.billing_mode.forms import ChangeForm
from instances.web.responses import refresh_or_redirect
from marketplace.leasing.offer_selectors import offer_view


def _bound_form(request: SignedInRequest, instance_id: str) -> tuple[Instance, ChangeForm]:
    instance = instance_of(request.user, parse_public_id("inst", instance_id))
    bound = request.POST if request.method == "POST" else None
    first = {name: request.GET[name] for name in ("billing_mode", "term") if name in request.GET}
    return instance, ChangeForm(bound, initial=first, instance=instance, offer=offer_view(instance.offer_id))


@login_required_page
def instance_change(request: SignedInRequest, instance_id: str) -> HttpResponse:
    """Show the choices, or change what was posted; errors are shown above the unchanged form."""
    (instance, form), fault = _bound_form(request, instance_id), None
    if form.is_valid():
        try:
            _apply(request, instance, form)
            return redirect("instance", instance_id)
        except DomainError as error:
            fault = error
    context = {"it": instance, "bill": cost_of(instance, clock.now()), "form": form, "refused": fault}
    return render_page(request, "instances/change.html", context, status=fault.status if fault else 200)


@require_POST
@login_required_page
def instance_change_quote(request: SignedInRequest, instance_id: str) -> HttpResponse:
    """Show what the present choices cost and what is due now."""
    instance, form = _bound_form(request, instance_id)
    pays_host = payable_money_of(payer_id=request.user.pk, owner_id=instance.host.owner_id)
    context: dict[str, object] = {"it": instance, "form": form, "pays_host": pays_host}
    try:
        if form.is_valid():
            context["quote"] = quote_change(renter=request.user, instance_id=instance.pk, **form.mode_options)
    except DomainError as error:
        context["refused"] = error
    return render_page(request, "instances/_change_bill.html", context)


@require_POST
@login_required_page
def instance_auto_renew(request: SignedInRequest, instance_id: str) -> HttpResponse:
    wanted = request.POST.get("auto_renew") == "1"
    extend_instance(renter=request.user, instance_id=parse_public_id("inst", instance_id), auto_renew=wanted)
    return refresh_or_redirect(request, "instance", instance_id)


def _apply(request: SignedInRequest, instance: Instance, form: ChangeForm) -> None:
    change = extend_instance if form.is_renewal else convert_instance
    renews = {} if form.is_renewal else {"auto_renew": form.cleaned_data["auto_renew"]}
    change(renter=request.user, instance_id=instance.pk, quote_id=form.quote_id_given, **renews)
