"""Repair of running instances whose meter was closed or capped by something outside the market."""

from datetime import datetime
from uuid import UUID

from billing.constants import INSTANCE_SOURCE
from billing.errors import InsufficientFunds
from billing.metering.escrow import lock_parties
from billing.metering.source_selectors import locked_meter
from common.db.transactions import use_case
from common.ids import public_id
from common.messages.message import Second
from instances.core.incident_messages import Remetered
from instances.core.money_messages import Unpaid
from instances.core.selectors import any_instance
from instances.lifecycle.stop import halt_instance
from instances.metering.findings import unmetered_instances
from instances.metering.meters import close_use, hold_for_use, open_use
from instances.metering.reserved_terms import payee_of
from instances.models import Instance
from instances.states import Desired, InstanceState
from marketplace.hosts.incidents import open_incident

UNMETERED = "unmetered_instance"


def reopen_meters(*, now: datetime) -> int:
    """Open a new meter and an incident for each running instance without one; return how many.

    An instance that cannot be paid is stopped. The time between is not charged, since it is not proven and not the
    renter's doing. What the old meter had proven until it was closed or capped is charged as usual.
    """
    return sum(_repair(instance_id, now) for instance_id in unmetered_instances())


def _repair(instance_id: UUID, now: datetime) -> bool:
    try:
        reopened = _reopen(instance_id, now)
    except InsufficientFunds:
        return halt_instance(instance_id=instance_id, kind="funds_exhausted", detail=Unpaid())
    if reopened:
        open_incident(kind=UNMETERED, subject=public_id("inst", instance_id), detail=Remetered(at=Second(now)))
    return reopened


def _reopen(instance_id: UUID, now: datetime) -> bool:
    with use_case():
        found = any_instance(instance_id)
        lock_parties(renter_id=found.renter_id, host_owner_id=payee_of(found))
        meter = locked_meter(source_kind=INSTANCE_SOURCE, source_id=instance_id)
        rows = Instance.objects.select_for_update(of=("self",), no_key=True).filter(pk=instance_id)
        instance = rows.select_related("host", "offer").order_by("pk").get()
        runs = instance.state == InstanceState.RUNNING and instance.desired == Desired.RUNNING
        if not runs or (meter is not None and meter.capped_at is None):
            return False
        close_use(instance_id)  # charges what is proven up to the cap, and releases the hold
        hold_for_use(instance)
        open_use(instance, at=now, payee_id=payee_of(instance))
    return True
