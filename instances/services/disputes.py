"""Disputed payments: while a bank holds a renter's money back, the renter's spot rents do not go on (fault 77)."""

from datetime import datetime
from functools import partial
from uuid import UUID

from billing.estimates import SPOT
from billing.policy import INSTANCE_SOURCE
from billing.selectors.payments import wallets_in_dispute
from billing.services.settle import lock_source
from instances.event_details import DISPUTED
from instances.models import Instance
from instances.services.stop import halt_instance
from instances.states import InstanceState
from marketplace.selectors import breaker_open

_STOPS = (InstanceState.STOPPING, InstanceState.STOPPED, InstanceState.FAILED, InstanceState.RELEASING, InstanceState.GONE)


def stop_disputed(*, now: datetime) -> int:
    """Stop the spot rents of renters with an open dispute; how many. What they pay by the hour or in advance goes on."""
    owners = wallets_in_dispute()
    if not owners or breaker_open(now):
        return 0
    found = Instance.objects.filter(renter_id__in=owners, billing_mode=SPOT).exclude(state__in=_STOPS).order_by("pk")
    return sum(_stop(instance_id, owner_id) for instance_id, owner_id in found.values_list("pk", "renter_id"))


def _stop(instance_id: UUID, owner_id: UUID) -> bool:
    still = partial(_is_disputed, instance_id, owner_id)
    return halt_instance(instance_id=instance_id, kind="payment_disputed", detail=DISPUTED, only_if=still)


def _is_disputed(instance_id: UUID, owner_id: UUID) -> bool:
    lock_source(source_kind=INSTANCE_SOURCE, source_id=instance_id)
    return owner_id in wallets_in_dispute()
