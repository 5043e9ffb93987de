"""Asks again, with the wallet in hand, what a sweep has read without it."""

from datetime import datetime
from uuid import UUID

from billing.metering.costs import exhausted_sources
from billing.metering.settle import lock_source


def is_unpaid(*, source_kind: str, source_id: UUID, now: datetime) -> bool:
    """Whether the source's hold is used up and its wallet cannot pay for more; true until the transaction ends.

    Locks the source's wallets: call it first in a use case. Money that came in before is seen, what comes later waits.
    """
    lock_source(source_kind=source_kind, source_id=source_id)
    return bool(exhausted_sources(source_kind=source_kind, now=now, source_id=source_id))
