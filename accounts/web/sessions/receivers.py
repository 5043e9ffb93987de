"""Signal receivers: record and act on log-ins, passwords, addresses and second factors.

They are connected with the URLs (accounts.urls): nobody logs in before those are loaded.
"""

from typing import Any

from allauth.account import signals as account_signals
from allauth.mfa import signals as factor_signals
from django.contrib.auth import signals as auth_signals
from django.contrib.auth import update_session_auth_hash
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.event_log.services import record_event
from accounts.models import User
from accounts.selectors import session_credential
from accounts.sessions.services import delete_session, end_everything, record_session_use, start_session
from accounts.web.sessions.device_cookie import device_of, set_device_cookie
from accounts.web.sessions.middleware import CONSOLE, start_session_age
from common import clock
from common.db.transactions import use_case
from common.http.origin import record_credential


@receiver(auth_signals.user_logged_in)
def start_counting(request: HttpRequest, **_more: Any) -> None:
    start_session_age(request)


@receiver(account_signals.user_logged_in)
def record_login(request: HttpRequest, user: User, **_more: Any) -> None:
    key = _key_of(request)
    record_credential(session_credential(key), via=CONSOLE)
    set_device_cookie(request, start_session(user=user, session_key=key, device=device_of(request)))


@receiver(auth_signals.user_logged_out)
def end_session_at_logout(request: HttpRequest, **_more: Any) -> None:
    """End the tickets of a session at log-out, before its key is gone."""
    if request.session.session_key:
        delete_session(session_key=request.session.session_key)


@receiver([account_signals.password_changed, account_signals.password_set])
def end_others(request: HttpRequest, user: User, **_more: Any) -> None:
    """Log out everywhere else after a changed password.

    The browser in which it was changed stays logged in.
    """
    end_other_sessions(request, user, tokens=False, kind="password.changed")


@receiver(account_signals.password_reset)
def end_all(request: HttpRequest, user: User, **_more: Any) -> None:
    """End all sessions and API tokens after a password reset.

    Somebody else may have known the former password.
    """
    end_everything(user=user, keep="", tokens=True, kind="password.reset")


def end_other_sessions(request: HttpRequest, user: User, *, tokens: bool, kind: str = "session.all_ended") -> None:
    """Log out everywhere else; this browser's session continues under a new key."""
    end_everything(user=user, keep=_key_of(request), tokens=tokens, kind=kind)
    delete_session(session_key=_key_of(request))
    update_session_auth_hash(request, user)
    with use_case():
        record_session_use(user_id=user.pk, session_key=_key_of(request), now=clock.now())


@receiver(account_signals.email_added)
def record_email_added(user: User, email_address: Any, **_more: Any) -> None:
    record_event(user_id=user.pk, kind="email.added", subject=email_address.email)


@receiver(account_signals.email_removed)
def record_email_removed(user: User, email_address: Any, **_more: Any) -> None:
    record_event(user_id=user.pk, kind="email.removed", subject=email_address.email)


@receiver(account_signals.email_changed)
def record_email_changed(user: User, from_email_address: Any, **_more: Any) -> None:
    """Record the former address: mail about the account also goes there for some time (`addresses_of`)."""
    record_event(user_id=user.pk, kind="email.changed", subject=from_email_address.email if from_email_address else "")


@receiver(factor_signals.authenticator_added)
def record_factor_added(user: User, authenticator: Any, **_more: Any) -> None:
    record_event(user_id=user.pk, kind="factor.added", subject=authenticator.type)


@receiver([factor_signals.authenticator_removed, factor_signals.authenticator_reset])
def record_factor_removed(user: User, authenticator: Any, **_more: Any) -> None:
    record_event(user_id=user.pk, kind="factor.removed", subject=authenticator.type)


@receiver(factor_signals.authentication_failed)
def record_factor_failed(user: User, **_more: Any) -> None:
    record_event(user_id=user.pk, kind="factor.failed")


def _key_of(request: HttpRequest) -> str:
    if not request.session.session_key:
        request.session.save()
    return str(request.session.session_key)
