"""Deposits of terms without prepayment, held from the order until the term ends."""

from uuid import UUID

from billing.constants import DEPOSIT_SOURCE
from billing.metering.holds import hold_funds, release_hold
from billing.models import Commitment
from billing.pricing.rates import deposit_of
from common import clock


def commit(*, owner_id: UUID, term_id: UUID, rate_micros: int, list_rate_micros: int, total_micros: int) -> None:
    """Hold the deposit of a term, in cash, since coupon money would be returned with it.

    Runs inside the caller's transaction, like every hold; repeating it for the same term changes nothing.

    Raises:
        InsufficientFunds: the wallet cannot pay the deposit.
        OwesMoney: the owner has a debt.
    """
    Commitment.objects.get_or_create(
        term_id=term_id,
        defaults={
            "owner_id": owner_id,
            "rate_micros": rate_micros,
            "list_rate_micros": max(rate_micros, list_rate_micros),
            "total_micros": total_micros,
            "opened_at": clock.now(),
        },
    )
    hold_funds(
        owner_id=owner_id,
        amount_micros=deposit_of(rate_micros=rate_micros, total_micros=total_micros),
        source_kind=DEPOSIT_SOURCE,
        source_id=term_id,
        is_deposit=True,
    )


def end_commitment(*, term_id: UUID) -> None:
    """Release the deposit of a term that is over; repeating it is harmless.

    The caller has locked the owner's wallet.
    """
    release_hold(source_kind=DEPOSIT_SOURCE, source_id=term_id)
    Commitment.objects.filter(term_id=term_id, ended_at=None).update(ended_at=clock.now())
