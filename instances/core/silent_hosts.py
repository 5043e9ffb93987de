"""Reads of instances by their hosts: those on silent hosts, where nothing is charged, and those that are not there."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db.models import Q

from instances.models import Instance
from instances.states import InstanceState
from storage.operations.host_presence import is_silent


def silent_instances(now: datetime, host_id: UUID | None = None) -> dict[UUID, datetime]:
    """Map each instance on a silent host, or on this one if it is silent, to the host's last report."""
    rows = Instance.objects.filter(is_silent(now)).exclude(state=InstanceState.GONE).order_by()
    rows = rows if host_id is None else rows.filter(host_id=host_id)
    return dict(rows.values_list("pk", "host__last_seen_at"))


def without_hosts(instance_ids: Sequence[UUID], host_ids: frozenset[UUID]) -> list[UUID]:
    """Return those of the instances that are on none of these hosts, in their order."""
    return _without(instance_ids, Q(host_id__in=host_ids))


def without_silent(instance_ids: Sequence[UUID], now: datetime, *, spared: frozenset[UUID]) -> list[UUID]:
    """Return those of the instances that are neither on silent nor on the `spared` hosts, in their order.

    What is on a silent host uses up no money, whatever its funded time says: that is computed ahead by the clock.
    """
    return _without(instance_ids, is_silent(now) | Q(host_id__in=spared))


def _without(instance_ids: Sequence[UUID], hosts: Q) -> list[UUID]:
    # Neither an empty list of ids nor one of hosts costs a query: Django knows that nothing can match.
    on_them = set(Instance.objects.filter(hosts, pk__in=instance_ids).values_list("pk", flat=True))
    return [instance_id for instance_id in instance_ids if instance_id not in on_them]
