"""Reads of accounts: tokens by their text, and what belongs to a person."""

import hmac
import re
from collections.abc import Sequence
from uuid import UUID

from django.db.models import QuerySet

from accounts.models import ApiToken, SshKey, User
from accounts.policy import TOKEN_MARK, TOKEN_PREFIX_BYTES, TOKEN_SECRET_BYTES
from common import clock
from common.digest import secret_digest
from common.errors import NotFound
from common.ids import public_id
from common.prepared import Prepared

_TOKEN = re.compile(rf"{TOKEN_MARK}_([0-9a-f]{{{2 * TOKEN_PREFIX_BYTES}}})_([0-9a-f]{{{2 * TOKEN_SECRET_BYTES}}})")


def live_token(text: str) -> ApiToken | None:
    """The token with this text and its user, if it is neither revoked nor expired and the user active. One query."""
    match = _TOKEN.fullmatch(text)
    if match is None:
        return None
    prefix, secret = match.groups()
    token = _TOKEN_WITH_USER.first(prefix=prefix)
    if token is None or not hmac.compare_digest(token.secret_hash, secret_digest(secret)):
        return None
    expired = token.expires_at is not None and token.expires_at <= clock.now()
    return None if token.revoked_at or expired or not token.user.is_active else token


_TOKEN_WITH_USER = Prepared(
    lambda prefix: ApiToken.objects.select_related("user").filter(prefix=prefix).order_by(), prefix=str
)


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """Tokens that are not revoked, newest first; expired ones are shown so that they can be cleared away."""
    return ApiToken.objects.filter(user=user, revoked_at=None)


def token_of(user: User, token_id: UUID) -> ApiToken:
    token = tokens_of(user).filter(pk=token_id).first()
    if token is None:
        raise NotFound("There is no such token.")
    return token


def all_ssh_keys_of(user: User) -> QuerySet[SshKey]:
    return SshKey.objects.filter(user=user)


_KEYS = Prepared(lambda user_id: SshKey.objects.filter(user_id=user_id), user_id=UUID)


def ssh_keys_of(user: User, ids: Sequence[UUID] | None) -> list[SshKey]:
    """The user's keys with these ids, in that order, or all when `ids` is None. Raises NotFound for an id not theirs."""
    if ids is None:
        return _KEYS.all(user_id=user.pk)
    if not ids:
        return []
    found = {key.pk: key for key in all_ssh_keys_of(user).filter(pk__in=ids)}
    missing = [public_id("key", pk) for pk in ids if pk not in found]
    if missing:
        raise NotFound(f"There is no SSH key {', '.join(missing)} in your account.")
    return [found[pk] for pk in dict.fromkeys(ids)]


def count_people() -> int:
    return User.objects.filter(is_active=True).count()
