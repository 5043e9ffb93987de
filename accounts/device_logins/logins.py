"""Logging in a program on a machine without a browser (OAuth 2.0 device authorization, RFC 8628).

The program shows a short code, and asks again and again with a long one. A person who is signed in types the short code and
allows a token with certain scopes. Nothing of it is lasting, so it is kept in the cache: who loses it starts anew.
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.core.cache import cache
from redis.exceptions import RedisError

from accounts.constants import SCOPES
from accounts.errors import DeviceDenied, DeviceExpired, DevicePending, DeviceTooFast, DeviceUnknown
from accounts.models import ApiToken, User
from accounts.tokens.services import issue_token, reveal_token
from common import clock
from common.encryption import secret_digest
from common.errors import Busy, DomainError, FieldError, InvalidInput, TooOften
from common.http.origin import origin

LIFETIME_S: Final = 600
INTERVAL_S: Final = 5
TOKEN_LIFETIME: Final = timedelta(days=90)
MOST_WRONG_CODES: Final = 20  # by one person, while a code lives
_LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels, so no words; none that look alike
_CODE_CHARS: Final = 8
_DEVICE_BYTES: Final = 32


@dataclass(frozen=True)
class StartedLogin:
    """Both codes: the long one stays with the program, the short one is shown to a person."""

    device_code: str
    user_code: str


@dataclass(frozen=True)
class WaitingLogin:
    """What a person is asked to allow: by which program, from where, which scopes."""

    digest: str
    client: str
    scopes: tuple[str, ...]
    address: str


def start_login(*, client: str, scopes: Sequence[str]) -> StartedLogin:
    """Start a login of a program, for anybody who asks.

    Raises:
        InvalidInput: no scope, or an unknown one.
    """
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        detail = f"Unknown: {', '.join(unknown)}." if unknown else "Name at least one scope."
        raise InvalidInput(f"{detail} Choose from {', '.join(SCOPES)}.", errors=[FieldError("scopes", "invalid", detail)])
    device_code = secrets.token_urlsafe(_DEVICE_BYTES)
    waiting = WaitingLogin(secret_digest(device_code), client, tuple(sorted(set(scopes))), origin().address)
    with _cache():
        while True:
            letters = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_CHARS))
            if cache.add(_code_key(letters), asdict(waiting), LIFETIME_S):
                break
        cache.set(_login_key(waiting.digest), asdict(waiting), LIFETIME_S)
    return StartedLogin(device_code, f"{letters[:4]}-{letters[4:]}")


def waiting_login(*, user: User, user_code: str) -> WaitingLogin:
    """Return the login that shows this code and has not been answered.

    Raises:
        DeviceUnknown: there is none.
        TooOften: this person has tried too many codes.
    """
    letters = "".join(each for each in user_code.upper() if each in _LETTERS)
    with _cache():
        # Before the look-up: who has used up the guesses doesn't learn whether the next one is right, either.
        if int(cache.get(_wrong_key(user)) or 0) >= MOST_WRONG_CODES:
            raise TooOften("Too many wrong codes; wait before you try again.", wait=LIFETIME_S)
        found = cache.get(_code_key(letters)) if len(letters) == _CODE_CHARS else None
        if found is not None and cache.get(_answer_key(found["digest"])) is None:
            return WaitingLogin(**found)
        _count_wrong(user)
    raise DeviceUnknown


def answer_login(*, user: User, user_code: str, allow: bool) -> WaitingLogin:
    """Allow or refuse a login; the first answer counts.

    What is allowed is a token of the account at once, though nobody has its text yet: it is listed, logged under the address
    of the person, and ends with all others.

    Raises:
        DeviceUnknown: there is none, or it was answered.
        TooMany: the account has as many tokens as it may.
        TooOften: this person has tried too many codes.
    """
    waiting = waiting_login(user=user, user_code=user_code)
    claim, token = f"device-claimed:{waiting.digest}", ""
    with _cache():
        if not cache.add(claim, 1, LIFETIME_S):
            raise DeviceUnknown
        if allow:
            try:
                ends = clock.now() + TOKEN_LIFETIME
                token = issue_token(user=user, name=waiting.client, scopes=waiting.scopes, expires_at=ends)[0].pk.hex
            except DomainError:
                cache.delete(claim)
                raise
        cache.set(_answer_key(waiting.digest), token, LIFETIME_S)
    return waiting


def redeem_login(*, device_code: str) -> tuple[ApiToken, str]:
    """Return the token and its text, once, after the login has been allowed.

    Raises:
        DevicePending: nobody has answered yet.
        DeviceTooFast: asked again within `INTERVAL_S`.
        DeviceDenied: it was refused, or its token was revoked before it was asked for.
        DeviceExpired: it is unknown, too old, or has its token already.
    """
    digest = secret_digest(device_code)
    with _cache():
        started, answer = cache.get(_login_key(digest)), cache.get(_answer_key(digest))
        if started is None:
            raise DeviceExpired
        if answer is None:
            # A second less than what programs are told: the network makes some of them early.
            raise DevicePending if cache.add(f"device-asked:{digest}", 1, INTERVAL_S - 1) else DeviceTooFast
        if answer == "":
            raise DeviceDenied
        if not cache.add(f"device-redeemed:{digest}", 1, LIFETIME_S):
            raise DeviceExpired
    revealed = reveal_token(token_id=UUID(answer))
    if revealed is None:
        raise DeviceDenied
    return revealed


def _count_wrong(user: User) -> None:
    cache.add(_wrong_key(user), 0, LIFETIME_S)
    with suppress(ValueError):  # it has just expired
        cache.incr(_wrong_key(user))


def _wrong_key(user: User) -> str:
    return f"device-wrong:{user.pk.hex}"


def _code_key(letters: str) -> str:
    return f"device-code:{letters}"


def _login_key(digest: str) -> str:
    return f"device-login:{digest}"


def _answer_key(digest: str) -> str:
    return f"device-answer:{digest}"


@contextmanager
def _cache() -> Iterator[Any]:
    try:
        yield cache
    except RedisError as error:
        raise Busy from error
