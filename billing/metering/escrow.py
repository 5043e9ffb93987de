"""Escrow of prepaid terms: it gets the whole price at the order, and the unused part is returned."""

from uuid import UUID

from billing.constants import PLATFORM_FEE_BPS, TERM_SOURCE
from billing.coupons.redemption import draw, return_unused_draws
from billing.debts.services import check_owes_nothing
from billing.errors import too_little
from billing.ledger.postings import Movement, lock_wallets, post
from billing.ledger.wallets import open_wallet
from billing.metering.costs import costs_of
from billing.models import Entry, Posting, Wallet
from billing.pricing.rates import split_fee
from billing.pricing.tariffs import Scope
from common import clock

ACTOR = "term"


def lock_parties(*, renter_id: UUID, host_owner_id: UUID) -> Wallet:
    """Lock the wallets that a decision about a term may move, in the fixed order, and return the renter's.

    Must be the first step of a use case. The platform's wallet is left out: every end of a run moves it, so it is
    locked last and briefly.
    """
    renter, escrow = _pair(renter_id)
    host = open_wallet(owner_id=host_owner_id, kind=Wallet.Kind.HOST).pk
    return lock_wallets([renter, host, escrow])[renter]


def prepay(*, renter_id: UUID, term_id: UUID, amount_micros: int, memo: str, scope: Scope) -> None:
    """Pay a term's whole price into escrow, coupons first; repeating it for the term changes nothing.

    Raises:
        InsufficientFunds: the wallet and the coupons cannot pay it.
    """
    renter, escrow = _pair(renter_id)
    locked = lock_wallets([renter, escrow])
    key = f"term:{term_id.hex}:prepaid"
    if Posting.objects.filter(idempotency_key=key).exists():
        return
    check_owes_nothing(renter_id)
    spendable = locked[renter].spendable_micros
    drawn = draw(owner_id=renter_id, source_kind=TERM_SOURCE, source_id=term_id, wanted_micros=amount_micros, scope=scope)
    if spendable + drawn < amount_micros:
        raise too_little(amount_micros, spendable + drawn)
    _post(key, term_id, memo, [(renter, Entry.Kind.PREPAID, -amount_micros), (escrow, Entry.Kind.PREPAID, amount_micros)])


def net_charged(term_id: UUID) -> int:
    """Return what the term's closed meters have charged, less the credits for its host's faults."""
    cost = costs_of(source_kind=TERM_SOURCE, source_ids=[term_id], now=clock.now())[term_id]
    return cost.total_micros


def return_unused(*, renter_id: UUID, term_id: UUID, amount_micros: int, memo: str) -> None:
    """Return the unused part of a prepaid term from escrow; the part paid by coupons goes back to them."""
    renter, escrow = _pair(renter_id)
    lock_wallets([renter, escrow])
    if amount_micros > 0:
        movements = [(escrow, Entry.Kind.PREPAID, -amount_micros), (renter, Entry.Kind.PREPAID, amount_micros)]
        _post(f"term:{term_id.hex}:returned", term_id, memo, movements)
    return_unused_draws(source_kind=TERM_SOURCE, source_id=term_id)


def pass_on_credit(*, renter_id: UUID, term_id: UUID, amount_micros: int, key: str, memo: str) -> None:
    """Pass what a prepaid term that is over was credited on from escrow to its renter.

    `key` is the credit's. The caller has locked both wallets, and then returns to coupons what they had paid of it.
    """
    renter, escrow = _pair(renter_id)
    movements = [(escrow, Entry.Kind.PREPAID, -amount_micros), (renter, Entry.Kind.PREPAID, amount_micros)]
    _post(f"term:{term_id.hex}:returned:{key}", term_id, memo, movements)


def charge_early_end(
    *, renter_id: UUID, host_owner_id: UUID, term_id: UUID, amount_micros: int, prepaid: bool, memo: str
) -> None:
    """Charge what the early end of a term costs beyond its use, from escrow or the renter's wallet.

    What the wallet cannot pay is owed. Host and platform share it as they share use; the host's share of the debt
    is kept until it is repaid (`billing.ledger.trace_selectors`). Release the deposit before.
    """
    if amount_micros <= 0:
        return
    renter, escrow = _pair(renter_id)
    debt = None if prepaid else open_wallet(owner_id=renter_id, kind=Wallet.Kind.DEBT).pk
    host = open_wallet(owner_id=host_owner_id, kind=Wallet.Kind.HOST).pk
    platform = open_wallet(owner_id=None, kind=Wallet.Kind.PLATFORM).pk
    locked = lock_wallets([key for key in (escrow if prepaid else renter, debt, host, platform) if key is not None])
    paid = amount_micros if prepaid else min(amount_micros, max(0, locked[renter].spendable_micros))
    fee, share = split_fee(amount_micros, PLATFORM_FEE_BPS)
    movements = [
        (escrow if prepaid else renter, Entry.Kind.EXIT_FEE, -paid),
        (host, Entry.Kind.HOST_SHARE, share),
        (platform, Entry.Kind.PLATFORM_FEE, fee),
    ]
    if debt is not None:
        movements.append((debt, Entry.Kind.EXIT_FEE, paid - amount_micros))
    _post(f"term:{term_id.hex}:early-end", term_id, memo, movements)


def _post(key: str, term_id: UUID, memo: str, movements: list[tuple[UUID, Entry.Kind, int]]) -> None:
    post(
        key=key,
        kind=Posting.Kind.TERM,
        source_kind=TERM_SOURCE,
        source_id=term_id,
        memo=memo[:200],
        actor=ACTOR,
        movements=[Movement(*movement) for movement in movements if movement[2]],
        at=clock.now(),
    )


def _pair(renter_id: UUID) -> tuple[UUID, UUID]:
    return open_wallet(owner_id=renter_id).pk, open_wallet(owner_id=None, kind=Wallet.Kind.ESCROW).pk
