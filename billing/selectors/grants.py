"""Who has granted credit."""

from typing import Final
from uuid import UUID

from accounts.models import User

_STAFF: Final = "staff:"


def name_of(actor: str) -> str:
    """The mail address of whoever of the staff it was; else the actor as it stands."""
    if not actor.startswith(_STAFF):
        return actor or "–"
    try:
        key = UUID(actor.removeprefix(_STAFF))
    except ValueError:
        return actor
    return User.objects.filter(pk=key).values_list("email", flat=True).first() or actor
