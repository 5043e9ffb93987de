"""Pages of events and alerts."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from accounts.web.decorators import SignedInRequest, login_required_page
from common.http.htmx import render
from common.ids import parse_public_id
from instances.monitoring.alerts import resolve_alert, set_muted
from instances.web.monitoring.timeline import timeline_context


@login_required_page
def activity(request: SignedInRequest) -> HttpResponse:
    params = {name: request.GET.get(name, "") for name in ("instance", "group")}
    context = timeline_context(request.user, **params, page=request.GET.get("page"))
    return render(request, page="instances/activity.html", part="instances/_activity.html", context=context)


@require_POST
@login_required_page
def alert_resolve(request: SignedInRequest, alert_id: str) -> HttpResponse:
    mute = request.POST.get("mute") == "1"
    resolve_alert(renter=request.user, alert_id=parse_public_id("alrt", alert_id), mute=mute)
    return _refresh_or_redirect(request)


@require_POST
@login_required_page
def alerts_unmute(request: SignedInRequest, instance_id: str) -> HttpResponse:
    set_muted(renter=request.user, instance_id=parse_public_id("inst", instance_id), kinds=[])
    return _refresh_or_redirect(request)


def _refresh_or_redirect(request: SignedInRequest) -> HttpResponse:
    """Make htmx refresh the live parts of the page, or redirect a browser without it to the list."""
    if request.htmx:  # type: ignore[attr-defined]  # set by HtmxMiddleware
        return HttpResponse(status=204, headers={"HX-Trigger": "changed"})
    return redirect("activity")
