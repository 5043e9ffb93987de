"""Ends access: of a token, of a session, of everything. Tickets at the relay end with what they were asked for with."""

from collections.abc import Iterable
from datetime import datetime

from accounts.constants import TICKETS_LAST
from accounts.models import EndedCredential, User
from accounts.selectors import access_credential
from common import clock
from common.db.transactions import use_case
from common.revocation import forget_ended, tell_ended, tell_ended_now


def end_credentials(names: Iterable[str]) -> None:
    """Inside the transaction that ends them: tickets bound to one of these names are refused from its commit on."""
    until = clock.now() + TICKETS_LAST
    rows = [EndedCredential(name=name, until=until) for name in names]
    EndedCredential.objects.bulk_create(rows, ignore_conflicts=True)
    tell_ended({row.name: int(until.timestamp()) for row in rows})


def end_access(*, user: User) -> User:
    """Every session and ticket of the person ends. Inside the caller's transaction; `user` takes on the new version."""
    locked = User.objects.select_for_update(of=("self",), no_key=True).get(pk=user.pk)
    end_credentials([access_credential(locked)])
    user.access_version = locked.access_version + 1
    User.objects.filter(pk=user.pk).update(access_version=user.access_version)
    return user


def tell_all_ended(*, now: datetime) -> int:
    """Write all of them to Redis again, which may have lost some, and drop what is over; how many are left."""
    with use_case():
        EndedCredential.objects.filter(until__lte=now).delete()
    left = {name: int(until.timestamp()) for name, until in EndedCredential.objects.values_list("name", "until")}
    tell_ended_now(left)
    forget_ended(before=int(now.timestamp()))
    return len(left)
