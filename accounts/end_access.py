"""Ends the access of a token, a session or a whole account, and the relay's tickets under it."""

from collections.abc import Iterable
from datetime import datetime

from accounts.constants import TICKETS_LAST
from accounts.models import EndedCredential, User
from accounts.selectors import access_credential
from common import clock
from common.db.transactions import use_case
from common.revocation import delete_ended, publish_ended, publish_ended_now


def end_credentials(names: Iterable[str]) -> None:
    """End these credentials inside the transaction: tickets bound to them are refused from its commit on."""
    until = clock.now() + TICKETS_LAST
    rows = [EndedCredential(name=name, until=until) for name in names]
    EndedCredential.objects.bulk_create(rows, ignore_conflicts=True)
    publish_ended({row.name: int(until.timestamp()) for row in rows})


def end_access(*, user: User) -> User:
    """End every session and ticket of the user, inside the caller's transaction.

    `user` gets the new access version.
    """
    locked = User.objects.select_for_update(of=("self",), no_key=True).get(pk=user.pk)
    end_credentials([access_credential(locked)])
    user.access_version = locked.access_version + 1
    User.objects.filter(pk=user.pk).update(access_version=user.access_version)
    return user


def republish_ended_credentials(*, now: datetime) -> int:
    """Write all ended credentials to Redis again, which may have lost some, and delete expired ones.

    Returns how many are left.
    """
    with use_case():
        EndedCredential.objects.filter(until__lte=now).delete()
    left = {name: int(until.timestamp()) for name, until in EndedCredential.objects.values_list("name", "until")}
    publish_ended_now(left)
    delete_ended(before=int(now.timestamp()))
    return len(left)
