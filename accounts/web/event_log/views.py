"""Settings pages of an account's security: second factor, sessions, and log."""

from collections.abc import Iterator
from typing import cast

from allauth.account.decorators import reauthentication_required
from allauth.mfa.adapter import get_adapter
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.constants import SESSION_IDLE, SESSION_LONGEST
from accounts.event_log.messages import title_of
from accounts.models import AccountEvent
from accounts.selectors import events_of, sessions_of
from accounts.sessions.services import end_session
from accounts.web.decorators import SignedInRequest, login_required_page
from accounts.web.event_log.forms import EventForm
from accounts.web.sessions.receivers import end_other_sessions
from common import clock
from common.ids import parse_public_id
from common.spreadsheets import csv_lines, escape_formula

_PAGE = 50
_COLUMNS = ("at", "kind", "what", "subject", "via", "address", "agent")


@login_required_page
def security(request: SignedInRequest) -> HttpResponse:
    context = {
        "two_factor": get_adapter().is_mfa_enabled(request.user),
        "sessions": sessions_of(request.user),
        "here": request.session.session_key,
        "idle_days": SESSION_IDLE.days,
        "longest_days": SESSION_LONGEST.days,
    }
    return render(request, "accounts/security.html", context)


@require_POST
@login_required_page
def session_end(request: SignedInRequest, session_id: str) -> HttpResponse:
    end_session(user=request.user, session_id=parse_public_id("sess", session_id))
    messages.success(request, _("Session signed out."))
    return redirect("security")


@require_POST
@login_required_page
@reauthentication_required  # type: ignore[untyped-decorator]  # allauth has no type information
def sessions_end(request: SignedInRequest) -> HttpResponse:
    """End all other sessions.

    The request comes from a form, or from a link on the page that asked for the password again.
    """
    end_other_sessions(request, request.user, tokens=request.POST.get("tokens") == "on")
    messages.success(request, _("Signed out everywhere else."))
    return redirect("security")


@require_safe
@login_required_page
def account_events(request: SignedInRequest) -> HttpResponse:
    form = EventForm(request.GET)
    page = Paginator(form.applied(events_of(request.user)), _PAGE).get_page(request.GET.get("page"))
    context = {"form": form, "page": page, "asked": request.GET.urlencode()}
    return render(request, "accounts/events.html", context)


@require_safe
@login_required_page
def account_events_file(request: SignedInRequest) -> HttpResponse:
    rows = _rows(EventForm(request.GET).applied(events_of(request.user)))
    reply = StreamingHttpResponse(csv_lines(_COLUMNS, rows), content_type="text/csv; charset=utf-8")
    reply["Content-Disposition"] = f'attachment; filename="account-{clock.now():%Y-%m-%d}.csv"'
    return cast(HttpResponse, reply)  # streamed, which the decorator's type does not include


def _rows(events: QuerySet[AccountEvent]) -> Iterator[tuple[str, ...]]:
    for event in events.iterator():
        columns = (
            str(title_of(event.kind)),
            escape_formula(event.subject),
            event.via,
            event.address or "",
            escape_formula(event.agent),
        )
        yield (event.at.isoformat(), event.kind, *columns)
