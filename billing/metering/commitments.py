"""Terms without prepayment: deposits held until the term ends, and the cost of an early end."""

from uuid import UUID

from billing.constants import DEPOSIT_SOURCE, TERM_SOURCE
from billing.metering.costs import costs_of, open_holds
from billing.metering.holds import hold_funds, release_hold
from billing.models import Commitment
from billing.pricing.rates import deposit_of, early_end
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


def committed_micros(owner_id: UUID) -> int:
    """Return the money that secures terms paid by the hour; it is neither passed on nor refunded.

    For each term, it is what an early end would cost now, less the deposit that is held for it.
    """
    found = list(Commitment.objects.filter(owner_id=owner_id, ended_at=None))
    if not found:
        return 0
    terms = [each.term_id for each in found]
    costs = costs_of(source_kind=TERM_SOURCE, source_ids=terms, now=clock.now())
    deposits = open_holds(source_kind=DEPOSIT_SOURCE, source_ids=terms)
    return sum(_beyond(each, costs[each.term_id].total_micros, deposits.get(each.term_id, 0)) for each in found)


def _beyond(commitment: Commitment, charged: int, deposit: int) -> int:
    in_all = early_end(
        charged,
        unit_micros=commitment.rate_micros,
        list_unit_micros=commitment.list_rate_micros,
        total_micros=commitment.total_micros,
    )
    return max(0, in_all - charged - deposit)
