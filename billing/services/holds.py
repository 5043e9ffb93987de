"""Sets money aside for a source before it costs anything, and gives back what is left."""

from uuid import UUID

from django.db import connection
from django.db.models import F

from billing.errors import InsufficientFunds
from billing.models import Hold, Wallet
from billing.services.ledger import lock_wallets
from billing.services.settle import lock_source, settle_source
from billing.services.wallets import open_wallet
from common import clock
from common.errors import InvalidInput
from common.money import format_money
from common.prepared import Prepared, insert

_SET_ASIDE = "UPDATE billing_wallet SET held_micros = held_micros + %(needed)s WHERE id = %(wallet)s"
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


def hold_funds(*, owner_id: UUID, amount_micros: int, source_kind: str, source_id: UUID) -> None:
    """Set money of the owner's wallet aside for the source, inside the caller's transaction; raises InsufficientFunds.

    A source that has an open hold already keeps it, raised to the amount where it was less.
    """
    if amount_micros < 0:
        raise InvalidInput("Less than nothing cannot be held.")
    wallet = _locked_wallet(owner_id)
    hold = open_hold(source_kind, source_id)
    needed = amount_micros if hold is None else max(0, amount_micros - hold.amount_micros)
    _check_funds(wallet, needed)
    with connection.cursor() as cursor:
        cursor.execute(_SET_ASIDE, {"wallet": wallet.pk, "needed": needed})
    if hold is None:
        insert(
            Hold(wallet=wallet, source_kind=source_kind, source_id=source_id, amount_micros=needed, created_at=clock.now())
        )
    else:
        Hold.objects.filter(pk=hold.pk).update(amount_micros=F("amount_micros") + needed)


def release_hold(*, source_kind: str, source_id: UUID) -> None:
    """Charge what the source still owes, then free the rest of its hold. Does nothing when no hold is open."""
    if not lock_source(source_kind=source_kind, source_id=source_id):
        return
    hold = open_hold(source_kind, source_id)  # its row lock waits for a meter that is just being opened on it
    settle_source(source_kind=source_kind, source_id=source_id)
    if hold is None:
        return
    hold.refresh_from_db(fields=["amount_micros"])
    Wallet.objects.filter(pk=hold.wallet_id).update(held_micros=F("held_micros") - hold.amount_micros)
    Hold.objects.filter(pk=hold.pk).update(released_at=clock.now())


def _locked_wallet(owner_id: UUID) -> Wallet:
    """The renter's wallet in one statement; only a renter without one takes more."""
    wallet = _WALLET.first(owner_id=owner_id)
    if wallet is None:
        wallet_id = open_wallet(owner_id=owner_id).pk
        wallet = lock_wallets([wallet_id])[wallet_id]
    return wallet


def open_hold(source_kind: str, source_id: UUID) -> Hold | None:
    """The source's hold that has not been released, locked."""
    return _HOLD.first(source_kind=source_kind, source_id=source_id)


def _check_funds(wallet: Wallet, needed: int) -> None:
    if wallet.spendable_micros < needed:
        raise InsufficientFunds(
            f"This needs {format_money(needed)}; the wallet can spend {format_money(wallet.spendable_micros)}.",
            needed=format_money(needed),
            spendable=format_money(wallet.spendable_micros),
        )
