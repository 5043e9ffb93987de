"""Containers that are left on a machine whose former host was written off.

They are removed before anything on it is rented again.
"""

from collections.abc import Sequence
from uuid import UUID

from instances.core.transitions import HOST
from instances.core.write_off_selectors import leftover_ids
from marketplace.hosts.write_offs import clear_leftovers, leftovers_of


def record_removed(*, host_id: UUID, former: Sequence[UUID], absent: Sequence[UUID]) -> None:
    """Record the proof that nothing of these former hosts' instances is left on this host."""
    proven = set(absent)
    for each, instance_ids in leftover_ids(former).items():
        if instance_ids <= proven:
            clear_leftovers(host_id=host_id, former=each, actor=HOST)


def leftover_instance_ids(host_id: UUID) -> set[UUID]:
    """Return instances of former hosts that this host may report on, since it is to remove them."""
    return set[UUID]().union(*leftover_ids(leftovers_of(host_id)).values())
