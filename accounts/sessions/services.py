"""A user's sessions, from log-in to their end, and the browsers in which the user has logged in."""

import secrets
from collections.abc import Sequence
from datetime import datetime
from importlib import import_module
from uuid import UUID

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase

from accounts.constants import DEVICE_KEPT
from accounts.end_access import end_access, end_credentials
from accounts.event_log.services import record_event
from accounts.models import AccountEvent, AccountSession, KnownDevice, User
from accounts.selectors import session_credential, sessions_of
from accounts.tokens.services import revoke_all_in_transaction
from common import clock
from common.db.transactions import use_case
from common.encryption import secret_digest
from common.errors import NotFound
from common.http.origin import origin

_SECRET_BYTES = 32
LOGINS = ("login", "login.new_device")


def start_session(*, user: User, session_key: str, device: str) -> str:
    """Record a log-in and return the secret by which the browser is recognised next time.

    The owner is mailed about a browser that is new to an account with earlier log-ins.
    """
    now = clock.now()
    with use_case():
        known = KnownDevice.objects.filter(user=user, secret_hash=secret_digest(device), seen_at__gt=now - DEVICE_KEPT)
        is_known = bool(device) and bool(known.update(seen_at=now))
        before = AccountEvent.objects.filter(user=user, kind__in=LOGINS).exists()
        record_event(user_id=user.pk, kind="login" if is_known or not before else "login.new_device")
        if not is_known:
            device = device or secrets.token_urlsafe(_SECRET_BYTES)
            values = {"seen_at": now}
            KnownDevice.objects.update_or_create(user=user, secret_hash=secret_digest(device), defaults=values)
        record_session_use(user_id=user.pk, session_key=session_key, now=now)
    return device


def record_session_use(*, user_id: UUID, session_key: str, now: datetime) -> None:
    """Record the session's use, with the address and program of the present request."""
    current = origin()
    seen = {"user_id": user_id, "address": current.address or None, "agent": current.agent, "seen_at": now}
    AccountSession.objects.update_or_create(
        session_key=session_key, defaults=seen, create_defaults={**seen, "created_at": now}
    )


def end_session(*, user: User, session_id: UUID) -> None:
    """Log one session out, with its tickets.

    Raises:
        NotFound: the user has no such session.
    """
    with use_case():
        found = sessions_of(user).filter(pk=session_id).first()
        if found is None:
            raise NotFound("This session doesn't exist.")
        _end([found])
        record_event(user_id=user.pk, kind="session.ended", subject=found.agent)


def end_everything(*, user: User, keep: str, tokens: bool, kind: str = "session.all_ended") -> None:
    """Log out everywhere except in the session `keep`, with all tickets; with `tokens`, revoke API tokens.

    The kept session's hash is of the former version: the caller renews it (update_session_auth_hash).
    """
    with use_case():
        end_access(user=user)
        _end(list(AccountSession.objects.filter(user=user).exclude(session_key=keep)))
        record_event(user_id=user.pk, kind=kind)
        if tokens:
            revoke_all_in_transaction(user=user)


def delete_session(*, session_key: str) -> None:
    """Delete a session that was logged out or has expired, and end its tickets."""
    with use_case():
        AccountSession.objects.filter(session_key=session_key).delete()
        end_credentials([session_credential(session_key)])


def _end(sessions: Sequence[AccountSession]) -> None:
    store: type[SessionBase] = import_module(settings.SESSION_ENGINE).SessionStore
    end_credentials([session_credential(one.session_key) for one in sessions])
    for one in sessions:
        store().delete(one.session_key)
    AccountSession.objects.filter(pk__in=[one.pk for one in sessions]).delete()
