"""Debts of renters: collected from the debtor's money; owed money in other wallets is frozen."""

from uuid import UUID

from django.db.models import F

from billing.constants import DEBT_SOURCE, FROZEN_SOURCE
from billing.errors import owes_money
from billing.ledger.postings import Movement, lock_wallets, post
from billing.ledger.promotional_selectors import transferable_micros
from billing.ledger.trace_selectors import owed_money
from billing.models import Entry, Hold, Posting, Wallet
from billing.payouts.selectors import payable_of
from billing.people.selectors import blocking_debt_of
from common import change_counters, clock
from common.db.transactions import use_case
from common.ids import new_uuid

_ACTOR = "debts"


def check_owes_nothing(owner_id: UUID) -> None:
    """Refuse an owner with a debt that blocks new orders.

    Runs in a transaction that has locked the owner's wallet: a debt that arises later waits for that lock.

    Raises:
        OwesMoney: the owner has such a debt.
    """
    if blocking_debt_of(owner_id):
        raise owes_money()


def collect_debts() -> int:
    """Collect debts, freeze the owed money that is left elsewhere, and count the changed wallets.

    Run as a sweep. Each wallet is a transaction of its own, and a second run changes nothing.
    """
    debtors = Wallet.objects.filter(kind=Wallet.Kind.DEBT, balance_micros__lt=0).order_by("pk")
    owners = [owner for owner in debtors.values_list("owner_id", flat=True) if owner is not None]
    return sum(_collect(owner_id) for owner_id in owners) + freeze_owed_money()


def _collect(owner_id: UUID) -> bool:
    """Pay a debt from the debtor's spendable cash (no gifts), then from their payable earnings."""
    with use_case():
        kinds = (Wallet.Kind.RENTER, Wallet.Kind.DEBT, Wallet.Kind.HOST)
        keys = dict(Wallet.objects.filter(owner_id=owner_id, kind__in=kinds).values_list("kind", "pk"))
        locked = lock_wallets(list(keys.values()))
        own = {kind: locked[key] for kind, key in keys.items()}
        left = -own[Wallet.Kind.DEBT].balance_micros
        movements = []
        for kind, most in (
            (Wallet.Kind.RENTER, transferable_micros(own[Wallet.Kind.RENTER]) if Wallet.Kind.RENTER in own else 0),
            (Wallet.Kind.HOST, payable_of(owner_id=owner_id, now=clock.now()).matured_micros),
        ):
            taken = min(left, most)
            if taken > 0:
                movements.append(Movement(own[kind].pk, Entry.Kind.REPAYMENT, -taken))
                left -= taken
        repaid = -sum(movement.amount_micros for movement in movements)
        if repaid:
            movements.append(Movement(own[Wallet.Kind.DEBT].pk, Entry.Kind.REPAYMENT, repaid))
            _post(own[Wallet.Kind.DEBT].pk, movements)
            change_counters.notify_change(f"user:{owner_id.hex}")
    return repaid > 0


def _post(debt_id: UUID, movements: list[Movement]) -> None:
    post(
        key=f"repayment:{new_uuid().hex}",
        kind=Posting.Kind.REPAYMENT,
        source_kind=DEBT_SOURCE,
        source_id=debt_id,
        memo="What was owed, repaid",
        actor=_ACTOR,
        movements=movements,
        at=clock.now(),
    )


# -- money that others owe


def freeze_owed_money() -> int:
    """Hold owed money in other people's wallets, release repaid holds, and return how many changed.

    Money that is already held for running instances cannot be frozen: `unfrozen_money` reports where more is
    needed.
    """
    wanted = {key: micros for key, (_owner, micros) in _owed_in_wallets(own_too=False).items()}
    known = set(Hold.objects.filter(source_kind=FROZEN_SOURCE, released_at=None).values_list("wallet_id", flat=True))
    return sum(_freeze(wallet_id, wanted.get(wallet_id, 0)) for wallet_id in sorted({*wanted, *known}))


def unfrozen_money() -> dict[UUID, int]:
    """Return for each user the owed money that could not be frozen.

    Their wallet holds it for what runs.
    """
    lying = _owed_in_wallets(own_too=True)
    frozen = Hold.objects.filter(source_kind=FROZEN_SOURCE, released_at=None, wallet_id__in=lying)
    held = dict(frozen.values_list("wallet_id", "amount_micros"))
    left = {owner_id: micros - held.get(wallet_id, 0) for wallet_id, (owner_id, micros) in lying.items()}
    return {owner_id: micros for owner_id, micros in left.items() if micros > 0}


def _owed_in_wallets(*, own_too: bool) -> dict[UUID, tuple[UUID, int]]:
    """Return for each wallet its owner and how much of its money somebody owes.

    A debtor's own wallet is collected from, not frozen; it is included only with `own_too`.
    """
    lying = owed_money().lying_in("wallet")
    found = {}
    for wallet_id, owner_id in Wallet.objects.filter(pk__in=lying).values_list("pk", "owner_id"):
        micros = sum(micros for debtor, micros in lying[wallet_id].items() if own_too or debtor != owner_id)
        if owner_id is not None and micros > 0:
            found[wallet_id] = (owner_id, micros)
    return found


def _freeze(wallet_id: UUID, wanted: int) -> bool:
    with use_case():
        wallet = lock_wallets([wallet_id])[wallet_id]
        hold = Hold.objects.filter(source_kind=FROZEN_SOURCE, source_id=wallet_id, released_at=None).first()
        before = 0 if hold is None else hold.amount_micros
        amount = min(wanted, before + wallet.spendable_micros)
        if amount == before:
            return False
        Wallet.objects.filter(pk=wallet_id).update(held_micros=F("held_micros") + amount - before)
        if hold is None:
            _hold(wallet, amount)
        elif amount:
            Hold.objects.filter(pk=hold.pk).update(amount_micros=amount)
        else:
            Hold.objects.filter(pk=hold.pk).update(released_at=clock.now())
        if wallet.owner_id is not None:
            change_counters.notify_change(f"user:{wallet.owner_id.hex}")
    return True


def _hold(wallet: Wallet, amount: int) -> None:
    Hold.objects.create(
        wallet=wallet, source_kind=FROZEN_SOURCE, source_id=wallet.pk, amount_micros=amount, created_at=clock.now()
    )
