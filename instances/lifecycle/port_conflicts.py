"""Replacement of an instance's host port that another program on its host has taken."""

from datetime import datetime
from typing import Final

from common import clock
from common.messages.message import Change
from instances.access.extra_ports import take_additional_ports
from instances.constants import DEADLINES, PORT_CHANGES_AT_MOST, PORT_CHANGES_WITHIN
from instances.core.failure_messages import PortTaken
from instances.core.observations import ObservedRow
from instances.core.transitions import HOST, NO_PROGRESS, record_event, touch_to_run
from instances.errors import NoPorts
from instances.metering.reserved_terms import update_locked_columns
from instances.models import Instance, InstanceEvent
from instances.states import InstanceState

PORT_TAKEN: Final = "port_taken"
_REPLACED: Final = "port_replaced"
_COMING: Final = (
    InstanceState.REQUESTED,
    InstanceState.PROVISIONING,
    InstanceState.STARTING,
    InstanceState.RESTARTING,
)


def replace_taken_port(instance: Instance, row: ObservedRow, at: datetime) -> bool:
    """Start the instance again with another host port; return False where that is not possible.

    GPUs and money stay as they are. The taken port stays assigned to the instance, so that nobody else gets it
    meanwhile.
    """
    taken = _taken_port(instance, row)
    if taken is None or _changes_lately(instance, at) >= PORT_CHANGES_AT_MOST:
        return False
    try:
        [port] = take_additional_ports(instance, 1)
    except NoPorts:
        return False
    update_locked_columns(
        instance,
        ports=[[inside, port if outside == taken else outside] for inside, outside in instance.ports],
        run_generation=instance.run_generation + 1,
        observed_generation=row.generation,
        observed_at=at,
        **NO_PROGRESS,
        deadline=clock.now() + DEADLINES[InstanceState(instance.state)],
    )
    record_event(instance, kind=_REPLACED, actor=HOST, detail=Change(before=str(taken), after=str(port)))
    touch_to_run(instance)
    return True


def _taken_port(instance: Instance, row: ObservedRow) -> int | None:
    """Return the taken port, if the host names one that the instance has."""
    if row.phase != "failed" or row.failure_code != PORT_TAKEN or instance.state not in _COMING:
        return None
    named = row.detail.port if isinstance(row.detail, PortTaken) else None
    return next((outside for _, outside in instance.ports if outside == named), None)


def _changes_lately(instance: Instance, at: datetime) -> int:
    changes = InstanceEvent.objects.filter(instance=instance, kind=_REPLACED, at__gt=at - PORT_CHANGES_WITHIN)
    return changes.count()
