"""Notices to renters about maintenance that host owners announce or cancel."""

from typing import TYPE_CHECKING

from common.db.transactions import use_case
from common.messages.message import HostSays, Message, host_message
from instances.core.event_messages import MaintenanceAtHost, MaintenanceAtHostWithNote
from instances.core.selectors import live_on_host
from instances.core.transitions import HOST, record_event, touch_renter
from instances.states import ENDING
from marketplace.hosts.maintenance import mark_renters_notified
from marketplace.reliability.selectors import maintenance_to_notify
from marketplace.states import MaintenanceCategory

if TYPE_CHECKING:
    from marketplace.models import Maintenance


def notify_of_maintenance() -> int:
    """Record an event for each instance on the host, once for each announcement; return how many."""
    return sum(_notify(window) for window in maintenance_to_notify())


def _notify(window: "Maintenance") -> int:
    kind = "maintenance_announced" if window.cancelled_at is None else "maintenance_cancelled"
    detail = _detail_of(window)
    with use_case():
        if not mark_renters_notified(maintenance_id=window.pk):
            return 0
        staying = [each for each in live_on_host(window.host_id).values() if each.state not in ENDING]
        for instance in staying:
            record_event(instance, kind=kind, actor=HOST, detail=detail)
            touch_renter(instance)
    return len(staying)


def _detail_of(window: "Maintenance") -> Message:
    category, note = MaintenanceCategory(window.category), host_message(window.detail)
    if isinstance(note, HostSays):
        return MaintenanceAtHostWithNote(category=category, begins=window.starts_at, ends=window.ends_at, note=note)
    return MaintenanceAtHost(category=category, begins=window.starts_at, ends=window.ends_at)
