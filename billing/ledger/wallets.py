"""Opens wallets and puts money into them."""

from uuid import UUID

from billing.constants import GRANT_SOURCE
from billing.ledger.postings import Movement, lock_wallets, post
from billing.models import Entry, Grant, Posting, Wallet
from common import change_counters, clock
from common.db.prepared import Prepared
from common.db.transactions import use_case
from common.errors import InvalidInput


def open_wallet(*, owner_id: UUID | None, kind: str = Wallet.Kind.RENTER) -> Wallet:
    """The owner's wallet of this kind, made when missing; without an owner the market's own (platform, funding)."""
    wallet = _existing(owner_id, kind)
    if wallet is None:
        # Two at once: the unique index lets one of them in, and both read that one.
        Wallet.objects.bulk_create([Wallet(owner_id=owner_id, kind=kind)], ignore_conflicts=True)
        wallet = Wallet.objects.get(owner_id=owner_id, kind=kind)
    return wallet


def grant_credit(*, owner_id: UUID, amount_micros: int, actor: str, key: str, memo: str, confirmed_by: str = "") -> None:
    """Give a renter money from outside the market. The same key again changes nothing.

    Who gives it and why is kept, and the database wants both; above GRANT_ALONE_MICROS also who else has confirmed it.
    Staff grant by `billing.staff_credit.services`, which asks for that second person.
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
    """The two wallets that a grant moves money between, before anything else: so there is one grant at a time."""
    lock_wallets([open_wallet(owner_id=owner_id).pk, open_wallet(owner_id=None, kind=Wallet.Kind.FUNDING).pk])


def post_grant(grant: Grant) -> None:
    """Inside the caller's transaction, which has called `lock_granting`. One that is posted already stays as it is."""
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
    change_counters.touch(f"user:{grant.owner_id.hex}")


def _existing(owner_id: UUID | None, kind: str) -> Wallet | None:
    return _MARKETS.first(kind=kind) if owner_id is None else _OWNED.first(owner_id=owner_id, kind=kind)


_OWNED = Prepared(lambda **values: Wallet.objects.filter(**values).order_by(), owner_id=UUID, kind=str)
_MARKETS = Prepared(lambda kind: Wallet.objects.filter(owner_id=None, kind=kind).order_by(), kind=str)
