"""Pages of an instance's schedule and of its data retention."""

from django.contrib import messages
from django.http import HttpResponse
from django.utils.translation import gettext as _

from accounts.web.decorators import SignedInRequest, login_required_page
from common.errors import DomainError
from common.http.htmx import render
from common.ids import parse_public_id
from common.money import parse_money
from instances.retention.data_retention import keep_data
from instances.schedules.settings import change_settings
from instances.web.responses import redirect_to
from instances.web.schedules.context import keep_context, schedule_context
from instances.web.schedules.forms import KeepForm

_SCHEDULE = {"page": "instances/schedule.html", "part": "instances/_schedule_form.html"}
_KEEP = {"page": "instances/keep.html", "part": "instances/_keep_form.html"}


@login_required_page
def instance_schedule(request: SignedInRequest, instance_id: str) -> HttpResponse:
    """Show the schedule form, or save what was posted.

    `zone` is the reader's time zone, which the page's script sends.
    """
    key = parse_public_id("inst", instance_id)
    bound = request.POST if request.method == "POST" else None
    context = schedule_context(request.user, key, bound, request.GET.get("zone", ""))
    form = context["form"]
    try:
        if bound is not None and form.is_valid():
            change_settings(renter=request.user, instance_id=key, wanted=form.change)
            messages.success(request, _("Saved. The schedule is active."))
            return redirect_to(request, "instance", instance_id)
    except DomainError as error:
        context["refused"] = error
    return render(request, **_SCHEDULE, context=context)


@login_required_page
def instance_keep(request: SignedInRequest, instance_id: str) -> HttpResponse:
    """Show what keeping the data costs, or keep it as posted."""
    key = parse_public_id("inst", instance_id)
    context = keep_context(request.user, key)
    form = KeepForm(request.POST or None)
    try:
        if form.is_valid():
            choice = {"days": form.cleaned_data["days"], "max_fee_micros": parse_money(form.cleaned_data["max_fee"])}
            keep_data(renter=request.user, instance_id=key, **choice)
            messages.success(request, _("Data retention extended"))
            return redirect_to(request, "instance", instance_id)
    except DomainError as error:
        context["refused"] = error
    return render(request, **_KEEP, context=context)
