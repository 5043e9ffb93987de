"""A machine that comes back after its host was written off: the old containers go before anything is rented."""

from collections.abc import Sequence
from uuid import UUID

from instances.core.transitions import HOST
from instances.core.write_off_selectors import left_over_ids
from marketplace.hosts.write_off_selectors import leftovers_of
from marketplace.hosts.write_offs import clear_leftovers


def note_removed(*, host_id: UUID, former: Sequence[UUID], absent: Sequence[UUID]) -> None:
    """Take in the proof that nothing of the instances of these former hosts is on this one any more."""
    proven = set(absent)
    for each, instance_ids in left_over_ids(former).items():
        if instance_ids <= proven:
            clear_leftovers(host_id=host_id, former=each, actor=HOST)


def ids_left_over(host_id: UUID) -> set[UUID]:
    """Instances of former hosts that this one may speak of, since it is to remove them."""
    return set[UUID]().union(*left_over_ids(leftovers_of(host_id)).values())
