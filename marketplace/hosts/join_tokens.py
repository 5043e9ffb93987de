"""Join tokens: single-use permissions to enrol a host, shown once and stored as a hash."""

import secrets
from typing import TYPE_CHECKING

from common import clock
from common.db.transactions import use_case
from common.encryption import secret_digest
from common.errors import FieldError, InvalidInput
from common.printable import cut_printable
from marketplace.constants import JOIN_TOKEN_LIFETIME
from marketplace.errors import NotHostOwner
from marketplace.models import JoinToken

if TYPE_CHECKING:
    from accounts.models import User

_NAME_SIZE = 80
_REGION_SIZE = 40


def issue_join_token(*, owner: "User", host_name: str, region: str, price_micros: int) -> tuple[JoinToken, str]:
    """Create a token for one host of this owner and return it with its secret, which is not stored.

    `price_micros` is the host's first price.

    Raises:
        NotHostOwner: the user is not a host owner.
    """
    if not owner.is_host_owner:
        raise NotHostOwner("Only host owners can add hosts.")
    host_name, region = cut_printable(host_name, _NAME_SIZE), cut_printable(region, _REGION_SIZE)
    _check(host_name, region, price_micros)
    secret = f"join_{secrets.token_urlsafe(32)}"
    with use_case():
        token = JoinToken.objects.create(
            owner_id=owner.pk,
            secret_hash=secret_digest(secret),
            host_name=host_name,
            region=region,
            price_micros=price_micros,
            expires_at=clock.now() + JOIN_TOKEN_LIFETIME,
        )
    return token, secret


def _check(host_name: str, region: str, price_micros: int) -> None:
    wrong = [
        FieldError(name, "blank", "Give it a name.")
        for name, text in (("host_name", host_name), ("region", region))
        if not text
    ]
    if price_micros < 0:
        wrong.append(FieldError("price_hourly", "negative", "A price is not negative."))
    if wrong:
        raise InvalidInput("The join token can't be created with these values.", errors=wrong)
