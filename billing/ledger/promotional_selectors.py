"""Reads of money that the market gave: staff credit and coupons.

It pays for use, and never leaves a renter as cash.
"""

from collections.abc import Iterable
from uuid import UUID

from billing.ledger.raw_rows import rows
from billing.models import Entry, Wallet

_ENTRIES = "SELECT kind, amount_micros FROM billing_entry WHERE wallet_id = %(wallet)s ORDER BY id"
_GIVEN = """
SELECT wallet.owner_id, sum(entry.amount_micros)::bigint
FROM billing_wallet wallet JOIN billing_entry entry ON entry.wallet_id = wallet.id AND entry.kind IN ('credit', 'coupon')
WHERE wallet.kind = 'renter' AND wallet.owner_id = ANY(%(owners)s::uuid[])
GROUP BY wallet.owner_id
"""
_GIFTS = (Entry.Kind.CREDIT.value, Entry.Kind.COUPON.value)
_SPENT = (Entry.Kind.CHARGE.value, Entry.Kind.PREPAID.value, Entry.Kind.EXIT_FEE.value, Entry.Kind.REFUND.value)


def transferable_micros(wallet: Wallet) -> int:
    """Return what a renter's locked wallet may pass on: spendable money that the market did not give."""
    return max(0, min(wallet.spendable_micros, cash_micros(wallet)))


def cash_micros(wallet: Wallet) -> int:
    """Return the money of a renter's wallet that the market did not give, held or not.

    This is the most that may be passed on, refunded or owed.
    """
    return wallet.balance_micros - remaining_gifts(rows(_ENTRIES, wallet=wallet.pk))


def gifts_to(owner_ids: Iterable[UUID]) -> dict[UUID, int]:
    """Return what the market has ever given to each of these renters, less what returned to coupons."""
    return {owner_id: max(0, int(micros)) for owner_id, micros in rows(_GIVEN, owners=list(owner_ids))}


def remaining_gifts(entries: Iterable[tuple[str, int]]) -> int:
    """Return how much of a wallet the market gave, from its entries in order: gifts are spent before cash.

    Refunds restore the gifts first, up to what was spent of them; the result never exceeds the balance.
    """
    left = spent = balance = 0
    for kind, micros in entries:
        balance += micros
        if kind in _GIFTS:
            left = max(0, left + micros)
        elif kind in _SPENT:
            moved = min(left, -micros) if micros < 0 else -min(spent, micros)
            left, spent = left - moved, spent + moved
        left = min(left, balance)
    return left
