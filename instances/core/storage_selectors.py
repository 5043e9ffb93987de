"""Reads of instances for storage: names by id, and instances that a volume can be attached to."""

from collections.abc import Sequence
from uuid import UUID

from instances.models import Instance
from instances.states import InstanceState


def instance_names(ids: Sequence[UUID]) -> dict[UUID, str]:
    return dict(Instance.objects.filter(pk__in=ids).order_by().values_list("pk", "name"))


def stopped_instances_on(renter_id: UUID, host_ids: Sequence[UUID]) -> list[Instance]:
    """Return the renter's instances on these hosts without a running container.

    What is attached to them is mounted at their next start.
    """
    at_rest = [InstanceState.STOPPED, InstanceState.FAILED]
    own = Instance.objects.filter(renter_id=renter_id, host_id__in=host_ids, state__in=at_rest, stopped_at__isnull=False)
    return list(own.order_by("name", "pk"))


def instances_with_disks(renter_id: UUID) -> list[Instance]:
    """Return the renter's instances whose data disk can be copied now."""
    states = [InstanceState.RUNNING, InstanceState.STOPPED, InstanceState.FAILED]
    own = Instance.objects.filter(renter_id=renter_id, state__in=states, data_disk_gb__gt=0, started_at__isnull=False)
    return list(own.order_by("name", "pk"))
