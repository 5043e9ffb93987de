"""Money for many at once, written in a few statements; row for row what `grant_credit` writes for each."""

import uuid
from collections.abc import Sequence

from django.db import transaction
from django.db.models import F

from accounts.models import User
from billing.constants import GRANT_SOURCE
from billing.ledger.wallets import open_wallet
from billing.models import Entry, Grant, Posting, Wallet
from common import clock
from tests.roles import analyze

_AT_ONCE = 1_000
_MANY = 100


@transaction.atomic
def grant_all(granted: Sequence[tuple[User, int]], memo: str = "top-up") -> None:
    """So many micro-units for each, in this order; none of them may be zero. Somebody may be given more than once."""
    now, funding = clock.now(), open_wallet(owner_id=None, kind=Wallet.Kind.FUNDING)
    wallets = _wallets_of({user.pk for user, _ in granted})
    grants = Grant.objects.bulk_create(
        Grant(
            owner=user,
            amount_micros=micros,
            reason=memo,
            key=f"grant:{uuid.uuid4().hex}",
            requested_by="test",
            confirmed_by="second",
            created_at=now,
            settled_at=now,
        )
        for user, micros in granted
    )
    postings = Posting.objects.bulk_create(
        Posting(
            idempotency_key=grant.key,
            kind=Posting.Kind.GRANT,
            source_kind=GRANT_SOURCE,
            source_id=wallets[grant.owner_id].pk,
            memo=grant.reason,
            actor=grant.requested_by,
            created_at=now,
        )
        for grant in grants
    )
    Entry.objects.bulk_create(
        entry
        for grant, posting in zip(grants, postings, strict=True)
        for entry in (
            Entry(posting=posting, wallet=wallets[grant.owner_id], kind="credit", amount_micros=grant.amount_micros),
            Entry(posting=posting, wallet=funding, kind="funding", amount_micros=-grant.amount_micros),
        )
    )
    for user, micros in granted:
        wallets[user.pk].balance_micros += micros
    Wallet.objects.bulk_update(wallets.values(), ["balance_micros"], batch_size=_AT_ONCE)
    total = sum(micros for _, micros in granted)
    Wallet.objects.filter(pk=funding.pk).update(balance_micros=F("balance_micros") - total)
    if len(granted) > _MANY:  # each posting is checked at the commit: by plans for empty tables, in minutes
        analyze()


def _wallets_of(owners: set[uuid.UUID]) -> dict[uuid.UUID, Wallet]:
    """Of renters, made where they are missing."""
    kind = Wallet.Kind.RENTER
    there = set(Wallet.objects.filter(kind=kind, owner_id__in=owners).values_list("owner_id", flat=True))
    Wallet.objects.bulk_create(Wallet(owner_id=owner, kind=kind) for owner in owners - there)
    return {wallet.owner_id: wallet for wallet in Wallet.objects.filter(kind=kind, owner_id__in=owners) if wallet.owner_id}
