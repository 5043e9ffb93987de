"""Middleware that ends unused or old sessions, and records where sessions are used."""

from collections.abc import Callable
from datetime import datetime
from typing import Final, cast

from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse

from accounts.constants import SESSION_IDLE, SESSION_LONGEST, SESSION_SEEN_PRECISION
from accounts.models import User
from accounts.selectors import session_credential
from accounts.sessions.services import record_session_use
from accounts.web.sessions.device_cookie import keep_device
from common import clock
from common.db.transactions import use_case
from common.http.origin import record_credential

BEGAN: Final = "began_at"  # Unix seconds, stored in the session itself, so no further query is needed
SEEN: Final = "seen_at"
CONSOLE: Final = "console"


class SessionAge:
    """Middleware behind the one that identifies the user."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated:
            _check_age(request, clock.now())
        response = self.get_response(request)
        keep_device(request, response)
        return response


def start_session_age(request: HttpRequest) -> None:
    """Record a log-in: the session's age is counted from here."""
    request.session[BEGAN] = request.session[SEEN] = clock.now().timestamp()


def _check_age(request: HttpRequest, now: datetime) -> None:
    at, session = now.timestamp(), request.session
    began, seen = session.get(BEGAN), session.get(SEEN)
    if began is None or seen is None:  # it began before ages were recorded
        start_session_age(request)
    elif at - began > SESSION_LONGEST.total_seconds() or at - seen > SESSION_IDLE.total_seconds():
        logout(request)
        return
    elif at - seen > SESSION_SEEN_PRECISION.total_seconds():
        session[SEEN] = at
        with use_case():
            record_session_use(user_id=cast(User, request.user).pk, session_key=str(session.session_key), now=now)
    record_credential(session_credential(str(session.session_key)), via=CONSOLE)
