"""Repeats under the wallet's lock a check that a sweep made without it."""

from datetime import datetime
from uuid import UUID

from billing.metering.costs import exhausted_sources
from billing.metering.settle import lock_source


def is_unpaid(*, source_kind: str, source_id: UUID, now: datetime) -> bool:
    """Return whether the source's hold is used up and its wallet cannot pay.

    The answer holds until the transaction ends.

    Locks the source's wallets: call it first in a use case. Money that arrived before is counted, later money
    waits for the lock.
    """
    lock_source(source_kind=source_kind, source_id=source_id)
    return bool(exhausted_sources(source_kind=source_kind, now=now, source_id=source_id))
