"""Movements of cash between the outside and a renter's wallet.

What cannot be taken becomes debt, and what comes in repays debt first.
"""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from billing.ledger.postings import Movement, lock_wallets
from billing.ledger.promotional_selectors import transferable_micros
from billing.ledger.wallets import open_wallet
from billing.models import Entry, Wallet


@dataclass(frozen=True)
class CashWallets:
    """Wallets that one owner's cash moves between, locked until the transaction ends."""

    owner_id: UUID
    renter: Wallet
    outside: Wallet
    debt: Wallet | None

    @property
    def owed_micros(self) -> int:
        return 0 if self.debt is None else -self.debt.balance_micros


def lock_cash_wallets(*, owner_id: UUID, outside: Wallet.Kind = Wallet.Kind.STRIPE) -> CashWallets:
    """Lock and return the wallets of an owner's cash, before the caller's transaction locks others.

    Call it again after each posting. `outside` is the market's wallet on the other side. For the wallet of given
    coupons, the caller has locked the renter wallet before.
    """
    keys = _keys(owner_id, outside)
    for kind, whose in ((Wallet.Kind.RENTER, owner_id), (outside, None)):
        if kind not in keys:
            keys[kind] = open_wallet(owner_id=whose, kind=kind).pk
    locked = lock_wallets(list(keys.values()))
    if Wallet.Kind.DEBT not in keys:
        # A debt that another transaction created while this one waited for the renter's wallet; no later one
        # can be missed now.
        keys = _keys(owner_id, outside)
        locked |= lock_wallets([key for key in keys.values() if key not in locked])
    debt = keys.get(Wallet.Kind.DEBT)
    return CashWallets(
        owner_id,
        renter=locked[keys[Wallet.Kind.RENTER]],
        outside=locked[keys[outside]],
        debt=None if debt is None else locked[debt],
    )


def _keys(owner_id: UUID, outside: Wallet.Kind) -> dict[str, UUID]:
    own = Q(owner_id=owner_id, kind__in=[Wallet.Kind.RENTER, Wallet.Kind.DEBT])
    rows = Wallet.objects.filter(own | Q(owner_id=None, kind=outside))
    return dict(rows.values_list("kind", "pk"))


def movements_in(purse: CashWallets, amount_micros: int, kind: Entry.Kind) -> list[Movement]:
    """Return the movements of money from outside to the owner: debt is repaid first."""
    repaid = min(amount_micros, purse.owed_micros)
    movements = [Movement(purse.outside.pk, kind, -amount_micros)]
    if purse.debt is not None and repaid:
        movements.append(Movement(purse.debt.pk, kind, repaid))
    if amount_micros > repaid:
        movements.append(Movement(purse.renter.pk, kind, amount_micros - repaid))
    return movements


def movements_out(purse: CashWallets, amount_micros: int, kind: Entry.Kind) -> list[Movement]:
    """Return the movements of money from the owner to the outside; the uncovered rest is owed.

    Held money stays held, and money given by the market never pays a card or a bank.
    """
    taken = min(amount_micros, transferable_micros(purse.renter))
    movements = [Movement(purse.outside.pk, kind, amount_micros)]
    if taken:
        movements.append(Movement(purse.renter.pk, kind, -taken))
    if amount_micros > taken:
        debt = purse.debt or open_wallet(owner_id=purse.owner_id, kind=Wallet.Kind.DEBT)
        movements.append(Movement(debt.pk, kind, taken - amount_micros))
    return movements
