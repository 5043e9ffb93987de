"""Addresses that are read without a token, since clients fetch what they lead to without one."""

from uuid import UUID

from django.core import signing

from accounts.models import User
from common.errors import NotFound


def sign(salt: str, renter: User, *parts: str | int) -> str:
    """Return a text that stands for the renter and these parts."""
    return signing.dumps([renter.pk.hex, *parts], salt=salt)


def read(salt: str, signed: str, *, valid_s: int, again: str) -> tuple[User, list[str | int]]:
    """Return the renter and the parts that were signed.

    Raises:
        NotFound: The text is not one of ours, is older than so many seconds, or its account is closed; `again` says what
            to do.
    """
    try:
        user, *parts = signing.loads(signed, salt=salt, max_age=valid_s)
    except signing.BadSignature as error:
        raise NotFound(f"This address has expired. {again}") from error
    renter = User.objects.filter(pk=UUID(user), is_active=True).first()
    if renter is None:
        raise NotFound(f"This address has expired. {again}")
    return renter, parts
