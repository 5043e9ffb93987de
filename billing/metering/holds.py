"""Holds money for a source before it costs anything, checks what is left, and releases the rest."""

from datetime import datetime
from uuid import UUID

from django.db.models import F

from billing.budgets.services import check_budgets
from billing.coupons import redemption
from billing.debts.services import check_owes_nothing
from billing.errors import too_little
from billing.ledger.postings import lock_wallets
from billing.ledger.wallets import open_wallet
from billing.metering.costs import exhausted_sources
from billing.metering.settle import lock_source, settle_source
from billing.models import Hold, Wallet
from billing.pricing.tariffs import Scope
from common import clock
from common.db.prepared import Prepared, batched_writes, insert, write
from common.errors import InvalidInput

_SET_ASIDE = "UPDATE billing_wallet SET held_micros = held_micros + %s WHERE id = %s"
_WALLET = Prepared(
    lambda owner_id: (
        Wallet.objects.select_for_update(of=("self",), no_key=True)
        .filter(owner_id=owner_id, kind=Wallet.Kind.RENTER)
        .order_by("pk")
    ),
    owner_id=UUID,
)
_HOLD = Prepared(
    lambda **source: (
        Hold.objects.select_for_update(of=("self",), no_key=True).filter(**source, released_at__isnull=True).order_by("pk")
    ),
    source_kind=str,
    source_id=UUID,
)
_ANY = Scope()


def hold_funds(
    *,
    owner_id: UUID,
    amount_micros: int,
    source_kind: str,
    source_id: UUID,
    scope: Scope = _ANY,
    from_escrow: bool = False,
    first: bool = False,
    is_deposit: bool = False,
) -> None:
    """Hold money of the owner's wallet for the source, inside the caller's transaction.

    Coupons that fit the `scope` are drawn first. A source with an open hold keeps it, raised to the amount where
    it was less. With `from_escrow`, prepaid money is held; the caller has locked the owner's wallet. With
    `first`, the source is new and cannot have a hold yet. With `is_deposit`, only cash is held, and budgets do
    not count it as spending.

    Raises:
        InsufficientFunds: the money is not there.
        BudgetExceeded: a hard budget does not allow it.
        OwesMoney: the owner has a debt.
    """
    if amount_micros < 0:
        raise InvalidInput("A hold can't be negative.")
    wallet = _locked_escrow() if from_escrow else _locked_wallet(owner_id)
    if not from_escrow:
        check_owes_nothing(owner_id)
    hold = None if first else open_hold(source_kind, source_id)
    needed = amount_micros if hold is None else max(0, amount_micros - hold.amount_micros)
    if needed and not from_escrow and not is_deposit:
        check_budgets(wallet_id=wallet.pk, source_kind=source_kind, source_id=source_id, needed_micros=needed)
        wallet.balance_micros += redemption.draw(
            owner_id=owner_id, source_kind=source_kind, source_id=source_id, wanted_micros=needed, scope=scope
        )
    _check_funds(wallet, needed)
    if hold is None:
        with batched_writes():
            write(_SET_ASIDE, [needed, wallet.pk])
            insert(_draft(wallet, source_kind, source_id, scope, needed))
    else:
        write(_SET_ASIDE, [needed, wallet.pk])
        kept = Scope(hold.mode, hold.gpu_model) if scope == _ANY else scope
        Hold.objects.filter(pk=hold.pk).update(
            amount_micros=F("amount_micros") + needed, mode=kept.mode, gpu_model=kept.gpu_model
        )


def release_hold(*, source_kind: str, source_id: UUID, at: datetime | None = None) -> None:
    """Charge what the source has used and release the rest of its hold; do nothing without an open hold.

    `at` is the end of a calendar meter, by default now. Drawn coupon money that was not charged is returned.
    """
    if not lock_source(source_kind=source_kind, source_id=source_id):
        return
    hold = open_hold(source_kind, source_id)  # its row lock waits for a meter that is just being opened on it
    settle_source(source_kind=source_kind, source_id=source_id, at=at)
    if hold is None:
        return
    hold.refresh_from_db(fields=["amount_micros"])
    Wallet.objects.filter(pk=hold.wallet_id).update(held_micros=F("held_micros") - hold.amount_micros)
    Hold.objects.filter(pk=hold.pk).update(released_at=clock.now())
    redemption.return_unused_draws(source_kind=source_kind, source_id=source_id)


def pause_source(*, source_kind: str, source_id: UUID, at: datetime) -> None:
    """Charge a calendar meter up to `at` and end it there; its hold stays for a later meter.

    What is settled already stays. Locks the wallets, then the meter.
    """
    if lock_source(source_kind=source_kind, source_id=source_id):
        open_hold(source_kind, source_id)
        settle_source(source_kind=source_kind, source_id=source_id, at=at)


def open_hold(source_kind: str, source_id: UUID) -> Hold | None:
    """Return the source's unreleased hold, locked."""
    return _HOLD.first(source_kind=source_kind, source_id=source_id)


def _draft(wallet: Wallet, source_kind: str, source_id: UUID, scope: Scope, amount_micros: int) -> Hold:
    return Hold(
        wallet=wallet,
        source_kind=source_kind,
        source_id=source_id,
        mode=scope.mode,
        gpu_model=scope.gpu_model,
        amount_micros=amount_micros,
        created_at=clock.now(),
    )


def _locked_wallet(owner_id: UUID) -> Wallet:
    """Lock the renter's wallet in one statement; only a renter without a wallet needs more."""
    wallet = _WALLET.first(owner_id=owner_id)
    return _locked(open_wallet(owner_id=owner_id).pk) if wallet is None else wallet


def _locked_escrow() -> Wallet:
    return _locked(open_wallet(owner_id=None, kind=Wallet.Kind.ESCROW).pk)


def _locked(wallet_id: UUID) -> Wallet:
    return lock_wallets([wallet_id])[wallet_id]


def _check_funds(wallet: Wallet, needed: int) -> None:
    if wallet.spendable_micros < needed:
        raise too_little(needed, wallet.spendable_micros)


def is_unpaid(*, source_kind: str, source_id: UUID, now: datetime) -> bool:
    """Return whether the source's hold is used up and its wallet cannot pay.

    The answer holds until the transaction ends. Locks the source's wallets: call it first in a use case. Money that
    arrived before is counted, later money waits for the lock.
    """
    lock_source(source_kind=source_kind, source_id=source_id)
    return bool(exhausted_sources(source_kind=source_kind, now=now, source_id=source_id))
