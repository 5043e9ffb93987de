"""Reads of what ending a renter's terms early would cost beyond their deposits, as of now."""

from uuid import UUID

from billing.constants import DEPOSIT_SOURCE, TERM_SOURCE
from billing.metering.costs import costs_of, open_holds
from billing.models import Commitment
from billing.pricing.rates import early_end
from common import clock


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
