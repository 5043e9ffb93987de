"""Reads of instances whose host was written off, and of what may be left of them on the machine."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import F

from instances.constants import HOST_WRITTEN_OFF
from instances.core.selectors import DesiredRow
from instances.models import Instance, Move
from instances.states import Desired, InstanceState, MoveState


def instances_to_end(host_id: UUID) -> list[UUID]:
    there = Instance.objects.filter(host_id=host_id).exclude(state=InstanceState.GONE)
    return list(there.order_by("pk").values_list("pk", flat=True))


def has_instances(host_id: UUID) -> bool:
    """Return whether the host has an instance that is not gone, or is the target of a transfer."""
    there = Instance.objects.filter(host_id=host_id).exclude(state=InstanceState.GONE)
    return there.exists() or Move.objects.filter(to_host_id=host_id, state=MoveState.COPYING).exists()


def leftover_ids(former: Sequence[UUID]) -> dict[UUID, set[UUID]]:
    """Return the instances that ended with each of these hosts; their containers may still exist there."""
    ended = Instance.objects.filter(host_id__in=former, failure_code=HOST_WRITTEN_OFF, state=InstanceState.GONE)
    found: dict[UUID, set[UUID]] = {host_id: set() for host_id in former}
    for host_id, instance_id in ended.order_by("pk").values_list("host_id", "pk"):
        found[host_id].add(instance_id)
    return found


def leftover_rows(former: Sequence[UUID]) -> list[DesiredRow]:
    """Return desired rows with which the machine's new agent removes the containers of ended instances."""
    ended = Instance.objects.filter(host_id__in=former, failure_code=HOST_WRITTEN_OFF, state=InstanceState.GONE)
    rows = ended.annotate(image_reference=F("image__reference")).order_by("pk")
    return [
        DesiredRow(id=row.pk, generation=row.run_generation, fence=row.fence, run=Desired.GONE, image=row.image_reference)
        for row in rows
    ]
