"""A host's public reliability page, and the page on which its owner announces maintenance."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.shortcuts import render as render_page
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from accounts.web.decorators import SignedInRequest, login_required_page
from common import clock
from common.errors import InvalidInput
from common.ids import parse_public_id
from marketplace.hosts.maintenance import announce_maintenance, cancel_maintenance
from marketplace.hosts.selectors import host_of
from marketplace.web.reliability.context import add_refusal, maintenance_context, reliability_context
from marketplace.web.reliability.forms import MaintenanceForm


def reliability(request: HttpRequest, host_id: str) -> HttpResponse:
    context = reliability_context(parse_public_id("host", host_id), clock.now(), request.user.pk)
    return render_page(request, "marketplace/reliability.html", context)


@require_http_methods(["GET", "POST"])
@login_required_page
def host_maintenance(request: SignedInRequest, host_id: str) -> HttpResponse:
    host = host_of(request.user.pk, parse_public_id("host", host_id))
    form = MaintenanceForm(request.POST or None)
    if form.is_valid():
        try:
            announce_maintenance(actor_id=request.user.pk, host_id=host.pk, **form.announcement())
        except InvalidInput as error:
            add_refusal(form, error)
        else:
            messages.success(request, _("Maintenance announced. Renters on this host are notified."))
            return redirect(request.path)
    return render_page(request, "marketplace/maintenance.html", maintenance_context(host, form, clock.now()))


@require_POST
@login_required_page
def maintenance_cancel(request: SignedInRequest, host_id: str, maintenance_id: str) -> HttpResponse:
    key, which = parse_public_id("host", host_id), parse_public_id("mtn", maintenance_id)
    cancel_maintenance(actor_id=request.user.pk, host_id=key, maintenance_id=which)
    messages.success(request, _("Maintenance cancelled. Renters on this host are notified."))
    return redirect("host_maintenance", host_id=host_id)
