"""Pages of teams: members, their spending, and transfers."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.selectors import invitation_of, teams_of
from accounts.teams import invitations, services
from accounts.web.decorators import SignedInRequest, login_required_page
from billing.calendar_months import month_span
from billing.transfers.services import transfer_money
from billing.web.teams.context import team_context, transfer_form
from billing.web.teams.forms import InviteForm, TeamForm
from common.errors import DomainError
from common.http.problems import add_retry_after
from common.ids import parse_public_id, public_id


@login_required_page
def team_list(request: SignedInRequest) -> HttpResponse:
    form = TeamForm(request.POST or None)
    if form.is_valid():
        team = services.create_team(user=request.user, **form.cleaned_data)
        return redirect("team", public_id("team", team.pk))
    return render(request, "billing/teams.html", {"teams": teams_of(request.user), "form": form})


@login_required_page
def team(request: SignedInRequest, team_id: str) -> HttpResponse:
    """Show the team page; a POST creates an invitation, whose link is shown only in that response."""
    key, secret, fault = parse_public_id("team", team_id), "", None
    form = InviteForm(request.POST or None)
    if form.is_valid():
        try:
            _, secret = invitations.invite_member(user=request.user, team_id=key, **form.cleaned_data)
            form = InviteForm()
        except DomainError as error:
            fault = error
    context = team_context(request.user, key, month_span("")) | {
        "form": form,
        "secret": secret,
        "refused": fault,
    }
    return add_retry_after(render(request, "billing/team.html", context, status=fault.status if fault else 200), fault)


@require_POST
@login_required_page
def team_rename(request: SignedInRequest, team_id: str) -> HttpResponse:
    form = TeamForm(request.POST)
    if form.is_valid():
        services.rename_team(user=request.user, team_id=parse_public_id("team", team_id), **form.cleaned_data)
        messages.success(request, _("Team renamed"))
    return redirect("team", team_id)


@require_POST
@login_required_page
def team_delete(request: SignedInRequest, team_id: str) -> HttpResponse:
    services.delete_team(user=request.user, team_id=parse_public_id("team", team_id))
    messages.success(request, _("Team deleted"))
    return redirect("teams")


@require_POST
@login_required_page
def member_role(request: SignedInRequest, team_id: str, member_id: str) -> HttpResponse:
    role = "owner" if request.POST.get("role") == "owner" else "member"
    place = parse_public_id("memb", member_id)
    services.set_role(user=request.user, team_id=parse_public_id("team", team_id), member_id=place, role=role)
    messages.success(request, _("Role changed"))
    return redirect("team", team_id)


@require_POST
@login_required_page
def member_remove(request: SignedInRequest, team_id: str, member_id: str) -> HttpResponse:
    key, place = parse_public_id("team", team_id), parse_public_id("memb", member_id)
    services.remove_member(user=request.user, team_id=key, member_id=place)
    messages.success(request, _("Member removed from the team"))
    return redirect("team", team_id) if teams_of(request.user).filter(pk=key).exists() else redirect("teams")


@login_required_page
def team_join(request: SignedInRequest, secret: str) -> HttpResponse:
    """Show who invites; a POST joins the team."""
    if request.method == "POST":
        joined = services.accept_invitation(user=request.user, secret=secret)
        messages.success(request, _("You joined the team %(name)s.") % {"name": joined.name})
        return redirect("team", public_id("team", joined.pk))
    return render(request, "billing/team_join.html", {"invitation": invitation_of(request.user, secret)})


@require_POST
@login_required_page
def team_transfer(request: SignedInRequest, team_id: str) -> HttpResponse:
    key, fault = parse_public_id("team", team_id), None
    form = transfer_form(request.user, key, request.POST)
    if form.is_valid():
        try:
            transfer_money(sender=request.user, team_id=key, **form.cleaned_data)
            messages.success(request, _("Funds transferred. Both statements show the transfer."))
            return redirect("team", team_id)
        except DomainError as error:
            fault = error
    context = team_context(request.user, key, month_span("")) | {"form": InviteForm(), "sending": form, "refused": fault}
    return render(request, "billing/team.html", context, status=fault.status if fault else 400)
