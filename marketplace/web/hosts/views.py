"""Pages of a host owner: hosts, enrolment, listing, draining, and revocation of agent keys."""

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import redirect
from django.shortcuts import render as render_page
from django.views.decorators.http import require_POST

from accounts.users.profile import edit_profile
from accounts.web.decorators import SignedInRequest, login_required_page
from common.agent_release import enrol_command, served_release
from common.http.htmx import render
from common.ids import parse_public_id
from marketplace.hosts.agent_keys import revoke_own_agent
from marketplace.hosts.join_tokens import issue_join_token
from marketplace.hosts.offers import set_draining, set_listed
from marketplace.hosts.selectors import hosts_of
from marketplace.web.forms import EnrolForm


@login_required_page
def my_hosts(request: SignedInRequest) -> HttpResponse:
    context = {"hosts": hosts_of(request.user.pk), "form": EnrolForm()}
    return render(request, page="marketplace/my_hosts.html", part="marketplace/_hosts.html", context=context)


@require_POST
@login_required_page
def become_host_owner(request: SignedInRequest) -> HttpResponse:
    edit_profile(user_id=request.user.pk, is_host_owner=True)
    return redirect("my_hosts")


@require_POST
@login_required_page
def enrol_host(request: SignedInRequest) -> HttpResponse:
    """Show the enrolment command with its join token, which is shown only once."""
    form = EnrolForm(request.POST)
    context: dict[str, object] = {"form": form, "takes_behind_nat": settings.RELAY_TCP_PORTS is not None}
    if form.is_valid():
        context["token"], secret = issue_join_token(owner=request.user, **form.cleaned_data)
        context["secret"], context["installs"] = secret, served_release() is not None
        context["command"] = enrol_command(f"{request.scheme}://{request.get_host()}", secret)
    return render_page(request, "marketplace/_enrol.html", context)


@require_POST
@login_required_page
def offer_listing(request: SignedInRequest, offer_id: str) -> HttpResponse:
    listed = request.POST.get("listed") == "yes"
    set_listed(actor_id=request.user.pk, offer_id=parse_public_id("offr", offer_id), listed=listed)
    return redirect("my_hosts")


@require_POST
@login_required_page
def host_draining(request: SignedInRequest, host_id: str) -> HttpResponse:
    draining = request.POST.get("draining") == "yes"
    set_draining(actor_id=request.user.pk, host_id=parse_public_id("host", host_id), draining=draining)
    return redirect("my_hosts")


@require_POST
@login_required_page
def host_revoke_agent(request: SignedInRequest, host_id: str) -> HttpResponse:
    revoke_own_agent(actor_id=request.user.pk, host_id=parse_public_id("host", host_id))
    return redirect("my_hosts")
