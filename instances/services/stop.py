"""Stop: the container ends, its root and data disk stay, its GPUs are free once the host has proven it."""

from uuid import UUID

from accounts.models import User
from billing.policy import INSTANCE_SOURCE
from billing.services.meters import cap_meter
from common import clock
from common.database import use_case
from instances.models import Instance
from instances.policy import STOP_GRACE
from instances.selectors import any_instance, instance_of
from instances.services.moves import RENTER, SYSTEM, check_action, move_instance, retry_stale, touch_host
from instances.states import Desired, InstanceState


def stop_instance(*, renter: User, instance_id: UUID) -> Instance:
    """The renter's wish to stop. From now on at most the grace is charged, whatever the host says."""

    def attempt() -> Instance:
        instance = instance_of(renter, instance_id)
        check_action(instance, "stop")
        _stop(instance, kind="stop_asked", actor=RENTER, detail="")
        return instance

    with use_case():
        return retry_stale(attempt)


def halt_instance(*, instance_id: UUID, kind: str, detail: str) -> bool:
    """Stop for a reason of the market's. False when the instance cannot be stopped any more: then there is no need."""

    def attempt() -> bool:
        instance = any_instance(instance_id)
        if "stop" not in instance.actions:
            return False
        _stop(instance, kind=kind, actor=SYSTEM, detail=detail)
        return True

    with use_case():
        return retry_stale(attempt)


def cap_use(instance: Instance) -> None:
    """The stop request: nothing later than now + grace is charged. Meters are locked before instances."""
    cap_meter(source_kind=INSTANCE_SOURCE, source_id=instance.pk, at=clock.now() + STOP_GRACE)


def _stop(instance: Instance, *, kind: str, actor: str, detail: str) -> None:
    cap_use(instance)
    move_instance(
        instance,
        InstanceState.STOPPING,
        kind=kind,
        actor=actor,
        detail=detail,
        desired=Desired.STOPPED,
        stop_requested_at=clock.now(),
        progress="",
    )
    touch_host(instance)
