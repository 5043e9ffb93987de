"""Reads of instances on hosts that are silent, or report again."""

from datetime import datetime
from uuid import UUID

from billing.pricing.estimates import HOURLY, TIERED
from instances.models import Instance
from instances.states import InstanceState
from storage.operations.host_presence import is_heard, is_silent


def silent_instances(now: datetime, host_id: UUID | None = None) -> dict[UUID, datetime]:
    """Map each instance on a silent host, or on this one if it is silent, to the host's last report."""
    rows = Instance.objects.filter(is_silent(now)).exclude(state=InstanceState.GONE).order_by()
    rows = rows if host_id is None else rows.filter(host_id=host_id)
    return dict(rows.values_list("pk", "host__last_seen_at"))


def keeps_gpus(now: datetime) -> list[UUID]:
    """Return stopped instances that keep their GPUs for a fee, on hosts that have reported lately."""
    rows = Instance.objects.filter(is_heard(now), state=InstanceState.STOPPED, holds_gpus=True)
    return list(rows.filter(billing_mode__in=[HOURLY, TIERED]).order_by().values_list("pk", flat=True))
