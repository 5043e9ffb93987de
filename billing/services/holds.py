"""Sets money aside for a source before it costs anything, and gives back what is left."""

from uuid import UUID

from django.db.models import F

from billing.errors import InsufficientFunds
from billing.models import Hold, Wallet
from billing.services.ledger import lock_wallets
from billing.services.settle import lock_source, settle_source
from billing.services.wallets import open_wallet
from common import clock
from common.errors import InvalidInput
from common.money import format_money


def hold_funds(*, owner_id: UUID, amount_micros: int, source_kind: str, source_id: UUID) -> None:
    """Set money of the owner's wallet aside for the source, inside the caller's transaction; raises InsufficientFunds.

    A source that has an open hold already keeps it, raised to the amount where it was less.
    """
    if amount_micros < 0:
        raise InvalidInput("Less than nothing cannot be held.")
    wallet_id = open_wallet(owner_id=owner_id).pk
    wallet = lock_wallets([wallet_id])[wallet_id]
    hold = _open_hold(source_kind, source_id)
    needed = amount_micros if hold is None else max(0, amount_micros - hold.amount_micros)
    _check_funds(wallet, needed)
    Wallet.objects.filter(pk=wallet_id).update(held_micros=F("held_micros") + needed)
    if hold is None:
        Hold.objects.create(
            wallet=wallet, source_kind=source_kind, source_id=source_id, amount_micros=needed, created_at=clock.now()
        )
    else:
        Hold.objects.filter(pk=hold.pk).update(amount_micros=F("amount_micros") + needed)


def release_hold(*, source_kind: str, source_id: UUID) -> None:
    """Charge what the source still owes, then free the rest of its hold. Does nothing when no hold is open."""
    if not lock_source(source_kind=source_kind, source_id=source_id):
        return
    hold = _open_hold(source_kind, source_id)  # its row lock waits for a meter that is just being opened on it
    settle_source(source_kind=source_kind, source_id=source_id)
    if hold is None:
        return
    hold.refresh_from_db(fields=["amount_micros"])
    Wallet.objects.filter(pk=hold.wallet_id).update(held_micros=F("held_micros") - hold.amount_micros)
    Hold.objects.filter(pk=hold.pk).update(released_at=clock.now())


def _open_hold(source_kind: str, source_id: UUID) -> Hold | None:
    rows = Hold.objects.select_for_update(of=("self",), no_key=True)
    return rows.filter(source_kind=source_kind, source_id=source_id, released_at__isnull=True).first()


def _check_funds(wallet: Wallet, needed: int) -> None:
    if wallet.spendable_micros < needed:
        raise InsufficientFunds(
            f"This needs {format_money(needed)}; the wallet can spend {format_money(wallet.spendable_micros)}.",
            needed=format_money(needed),
            spendable=format_money(wallet.spendable_micros),
        )
