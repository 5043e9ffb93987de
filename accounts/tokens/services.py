"""Bearer tokens: shown once, and refused as soon as they are revoked."""

import secrets
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _

from accounts.constants import (
    LAST_USED_PRECISION,
    MAX_LIVE_TOKENS,
    SCOPES,
    TOKEN_MARK,
    TOKEN_PREFIX_BYTES,
    TOKEN_SECRET_BYTES,
)
from accounts.end_access import end_credentials
from accounts.errors import MissingScope, TooMany
from accounts.event_log.services import record_event
from accounts.models import ApiToken, User
from accounts.selectors import token_credential, token_of, tokens_of
from common import clock
from common.db.transactions import use_case
from common.encryption import secret_digest
from common.errors import FieldError, InvalidInput


def issue_token(
    *,
    user: User,
    name: str,
    scopes: Sequence[str],
    expires_at: datetime | None = None,
    issuer: ApiToken | None = None,
) -> tuple[ApiToken, str]:
    """Create a token and return it with its text, which is not stored.

    `issuer` is the token that makes the request, if any: it can pass on neither a scope that it lacks nor a
    lifetime beyond its own.
    """
    _check_scopes(scopes, issuer)
    expires_at = _expiry(expires_at, issuer)
    prefix, secret = secrets.token_hex(TOKEN_PREFIX_BYTES), secrets.token_hex(TOKEN_SECRET_BYTES)
    with use_case():
        if tokens_of(user).count() >= MAX_LIVE_TOKENS:
            raise TooMany(f"An account has at most {MAX_LIVE_TOKENS} tokens; revoke some first.")
        token = ApiToken.objects.create(
            user=user,
            name=name,
            prefix=prefix,
            secret_hash=secret_digest(secret),
            scopes=sorted(set(scopes)),
            expires_at=expires_at,
        )
        record_event(user_id=user.pk, kind="token.created", subject=_named(token))
    return token, f"{TOKEN_MARK}_{prefix}_{secret}"


def reveal_token(*, token_id: UUID) -> tuple[ApiToken, str] | None:
    """Give a token whose text nobody has seen a new one, and return both; None if it was revoked meanwhile."""
    secret = secrets.token_hex(TOKEN_SECRET_BYTES)
    with use_case():
        live = ApiToken.objects.filter(pk=token_id, revoked_at=None, user__is_active=True)
        token = live.select_for_update(of=("self",), no_key=True).first()
        if token is None:
            return None
        token.secret_hash = secret_digest(secret)
        token.save(update_fields=["secret_hash"])
    return token, f"{TOKEN_MARK}_{token.prefix}_{secret}"


def revoke_token(*, user: User, token_id: UUID) -> None:
    """Revoke a token at once.

    Raises:
        NotFound: the user has no such token, or it is revoked already.
    """
    with use_case():
        token = token_of(user, token_id)
        _revoke([token])
        record_event(user_id=user.pk, kind="token.revoked", subject=_named(token))


def revoke_all_tokens(*, user: User) -> int:
    """Revoke every token of the account at once, and return how many there were."""
    with use_case():
        return revoke_all_in_transaction(user=user)


def revoke_all_in_transaction(*, user: User) -> int:
    """Revoke every token of the account inside the caller's transaction, and return how many there were."""
    live = list(tokens_of(user))
    _revoke(live)
    if live:
        record_event(user_id=user.pk, kind="token.all_revoked", subject=str(len(live)))
    return len(live)


def record_use(*, token: ApiToken) -> None:
    """Set `last_used_at`, at most once a minute.

    A locked row is skipped: another request is recording the use.
    """
    now = clock.now()
    stale = now - LAST_USED_PRECISION
    if token.last_used_at is not None and token.last_used_at > stale:
        return
    due = Q(last_used_at=None) | Q(last_used_at__lte=stale)
    with use_case():
        free = ApiToken.objects.select_for_update(skip_locked=True, no_key=True).filter(due, pk=token.pk).values("pk")
        ApiToken.objects.filter(pk__in=free).update(last_used_at=now)


def _revoke(tokens: Sequence[ApiToken]) -> None:
    ApiToken.objects.filter(pk__in=[token.pk for token in tokens], revoked_at=None).update(revoked_at=clock.now())
    end_credentials([token_credential(token.pk) for token in tokens])


def _named(token: ApiToken) -> str:
    return f"{token.name} ({TOKEN_MARK}_{token.prefix}…)"


def _check_scopes(scopes: Sequence[str], issuer: ApiToken | None) -> None:
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        detail = f"Unknown: {', '.join(unknown)}." if unknown else "Name at least one scope."
        known = f"Choose from {', '.join(SCOPES)}."
        raise InvalidInput(f"{detail} {known}", errors=[FieldError("scopes", "invalid", detail)])
    beyond = sorted(set(scopes) - set(issuer.scopes)) if issuer is not None else []
    if beyond:
        raise MissingScope(f"A token can't grant scopes that it doesn't have: {', '.join(beyond)}.")


def _expiry(wanted: datetime | None, issuer: ApiToken | None) -> datetime | None:
    if wanted is not None and wanted <= clock.now():
        raise InvalidInput(
            "expires_at is in the past.", errors=[FieldError("expires_at", "past", _("Choose a future time."))]
        )
    limit = issuer.expires_at if issuer is not None else None
    if limit is not None and wanted is not None and wanted > limit:
        raise MissingScope(f"A token issued by this one can't expire later than it ({limit:%Y-%m-%dT%H:%M:%SZ}).")
    return wanted or limit
