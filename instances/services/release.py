"""Release: the end of an instance and its data. It is gone when the host has proven that nothing is left."""

from uuid import UUID

from accounts.models import User
from common import clock
from common.database import use_case
from instances.models import Instance
from instances.selectors import any_instance, instance_of
from instances.services.moves import RENTER, SYSTEM, move_instance, retry_stale, touch_host
from instances.services.stop import cap_use
from instances.states import Desired, InstanceState


def release_instance(*, renter: User, instance_id: UUID) -> Instance:
    """The renter's wish to end it; asked again, it changes nothing."""

    def attempt() -> Instance:
        instance = instance_of(renter, instance_id)
        if "release" in instance.actions:
            _release(instance, kind="release_asked", actor=RENTER, detail="")
        return instance

    with use_case():
        return retry_stale(attempt)


def expire_instance(*, instance_id: UUID) -> bool:
    """Release what has been stopped for longer than its data is kept; False when the renter was faster."""
    with use_case():
        instance = any_instance(instance_id)
        due = instance.release_at is not None and instance.release_at <= clock.now()
        if due and instance.state in (InstanceState.STOPPED, InstanceState.FAILED):
            _release(instance, kind="retention_over", actor=SYSTEM, detail="The data was kept for 30 days after the stop.")
            return True
    return False


def _release(instance: Instance, *, kind: str, actor: str, detail: str) -> None:
    cap_use(instance)
    move_instance(
        instance,
        InstanceState.RELEASING,
        kind=kind,
        actor=actor,
        detail=detail,
        desired=Desired.GONE,
        stop_requested_at=instance.stop_requested_at or clock.now(),
        release_at=None,
        progress="",
    )
    touch_host(instance)
