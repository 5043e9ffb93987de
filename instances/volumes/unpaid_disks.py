"""Data disks of wallets without money: not charged meanwhile, kept as usual, metered again with money."""

from datetime import datetime
from uuid import UUID

from billing.constants import DISK_SOURCE
from billing.errors import InsufficientFunds
from billing.metering.costs import exhausted_sources, open_holds
from common.db.transactions import use_case
from instances.core.selectors import with_paid_disks
from instances.core.silent_hosts import silent_instances
from instances.metering.meters import close_disk, hold_for_disk, open_disk
from instances.metering.reserved_terms import locked_with_wallets, payee_of
from instances.states import ENDING
from storage.volumes.silent_hosts import pause_silent


def update_disk_meters(*, now: datetime) -> int:
    """Close meters whose money is used up, and open them again with money; return how many.

    This is a sweep. Because of the closing, no later top-up pays for the time between. Those on silent hosts are paused
    first: after an outage of that sweep they would else be taken for unpaid, and lose what is held for them.
    """
    pause_silent(source_kind=DISK_SOURCE, last_reports=silent_instances(now), now=now)
    ended = [_end(instance_id, now) for instance_id in exhausted_sources(source_kind=DISK_SOURCE, now=now)]
    candidates = with_paid_disks(now)
    metered = open_holds(source_kind=DISK_SOURCE, source_ids=candidates)
    begun = [_begin(instance_id, now) for instance_id in candidates if instance_id not in metered]
    return sum(ended) + sum(begun)


def _end(instance_id: UUID, now: datetime) -> bool:
    with use_case():
        close_disk(instance_id, at=now)
    return True


def _begin(instance_id: UUID, now: datetime) -> bool:
    try:
        with use_case():
            instance = locked_with_wallets(instance_id)
            if instance.state in ENDING:
                return False
            hold_for_disk(instance)
            open_disk(instance, at=now, payee_id=payee_of(instance))
    except InsufficientFunds:
        return False
    return True
