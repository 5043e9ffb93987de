"""Opens wallets and grants credit."""

from uuid import UUID

from billing.constants import GRANT_SOURCE
from billing.ledger.postings import Movement, lock_wallets, post
from billing.models import Entry, Grant, Posting, Wallet
from common import change_counters, clock
from common.db.prepared import Prepared
from common.db.transactions import use_case
from common.errors import InvalidInput


def open_wallet(*, owner_id: UUID | None, kind: str = Wallet.Kind.RENTER) -> Wallet:
    """Return the owner's wallet of this kind, created when missing.

    Without an owner it is the market's own wallet (platform, funding).
    """
    wallet = _existing(owner_id, kind)
    if wallet is None:
        # Of two at once, the unique index accepts one, and both read that row.
        Wallet.objects.bulk_create([Wallet(owner_id=owner_id, kind=kind)], ignore_conflicts=True)
        wallet = Wallet.objects.get(owner_id=owner_id, kind=kind)
    return wallet


def grant_credit(*, owner_id: UUID, amount_micros: int, actor: str, key: str, memo: str, confirmed_by: str = "") -> None:
    """Give a renter money from outside the market; repeating the same key changes nothing.

    The database requires who gives it and why, and above GRANT_ALONE_MICROS also who else confirmed it. Staff
    grant by `billing.staff_credit.services`, which requests that second person.
    """
    if amount_micros <= 0:
        raise InvalidInput("A grant must be more than zero.")
    now = clock.now()
    with use_case():
        lock_granting(owner_id)
        grant, _made = Grant.objects.get_or_create(
            key=f"grant:{key}",
            defaults={
                "owner_id": owner_id,
                "amount_micros": amount_micros,
                "reason": memo[:200],
                "requested_by": actor,
                "confirmed_by": confirmed_by,
                "created_at": now,
                "settled_at": now,
            },
        )
        post_grant(grant)


def lock_granting(owner_id: UUID) -> None:
    """Lock the two wallets of a grant before anything else, so that one grant runs at a time."""
    lock_wallets([open_wallet(owner_id=owner_id).pk, open_wallet(owner_id=None, kind=Wallet.Kind.FUNDING).pk])


def post_grant(grant: Grant) -> None:
    """Post a grant inside the caller's transaction, after `lock_granting`; a posted grant stays as it is."""
    renter = open_wallet(owner_id=grant.owner_id)
    funding = open_wallet(owner_id=None, kind=Wallet.Kind.FUNDING)
    post(
        key=grant.key,
        kind=Posting.Kind.GRANT,
        source_kind=GRANT_SOURCE,
        source_id=renter.pk,
        memo=grant.reason,
        actor=grant.requested_by,
        movements=[
            Movement(renter.pk, Entry.Kind.CREDIT, grant.amount_micros),
            Movement(funding.pk, Entry.Kind.FUNDING, -grant.amount_micros),
        ],
        at=clock.now(),
    )
    change_counters.notify_change(f"user:{grant.owner_id.hex}")


def _existing(owner_id: UUID | None, kind: str) -> Wallet | None:
    return _MARKETS.first(kind=kind) if owner_id is None else _OWNED.first(owner_id=owner_id, kind=kind)


_OWNED = Prepared(lambda **values: Wallet.objects.filter(**values).order_by(), owner_id=UUID, kind=str)
_MARKETS = Prepared(lambda kind: Wallet.objects.filter(owner_id=None, kind=kind).order_by(), kind=str)
