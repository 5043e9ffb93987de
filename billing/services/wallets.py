"""Opens wallets and puts money into them."""

from uuid import UUID

from billing.models import Entry, Posting, Wallet
from billing.policy import GRANT_SOURCE
from billing.services.ledger import Movement, post
from common import clock, wake
from common.database import use_case
from common.errors import InvalidInput
from common.prepared import Prepared


def open_wallet(*, owner_id: UUID | None, kind: str = Wallet.Kind.RENTER) -> Wallet:
    """The owner's wallet of this kind, made when missing; without an owner the market's own (platform, funding)."""
    wallet = _existing(owner_id, kind)
    if wallet is None:
        # Two at once: the unique index lets one of them in, and both read that one.
        Wallet.objects.bulk_create([Wallet(owner_id=owner_id, kind=kind)], ignore_conflicts=True)
        wallet = Wallet.objects.get(owner_id=owner_id, kind=kind)
    return wallet


def grant_credit(*, owner_id: UUID, amount_micros: int, actor: str, key: str, memo: str) -> None:
    """Give a renter money from outside the market. The same key again changes nothing."""
    if amount_micros <= 0:
        raise InvalidInput("A grant must be more than zero.")
    with use_case():
        renter = open_wallet(owner_id=owner_id)
        funding = open_wallet(owner_id=None, kind=Wallet.Kind.FUNDING)
        post(
            key=f"grant:{key}",
            kind=Posting.Kind.GRANT,
            source_kind=GRANT_SOURCE,
            source_id=renter.pk,
            memo=memo,
            actor=actor,
            movements=[
                Movement(renter.pk, Entry.Kind.CREDIT, amount_micros),
                Movement(funding.pk, Entry.Kind.FUNDING, -amount_micros),
            ],
            at=clock.now(),
        )
        wake.touch(f"user:{owner_id.hex}")


def _existing(owner_id: UUID | None, kind: str) -> Wallet | None:
    return _MARKETS.first(kind=kind) if owner_id is None else _OWNED.first(owner_id=owner_id, kind=kind)


_OWNED = Prepared(lambda **values: Wallet.objects.filter(**values).order_by(), owner_id=UUID, kind=str)
_MARKETS = Prepared(lambda kind: Wallet.objects.filter(owner_id=None, kind=kind).order_by(), kind=str)
