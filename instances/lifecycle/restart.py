"""Restarting: the same container is stopped and started on the same GPUs; the meter goes on."""

from uuid import UUID

from accounts.models import User
from common.db.transactions import use_case
from instances.core.selectors import instance_of
from instances.core.transitions import RENTER, check_action, move_instance, retry_stale, touch_host
from instances.models import Instance
from instances.states import InstanceState


def restart_instance(*, renter: User, instance_id: UUID) -> Instance:
    """Restart a running instance; a higher run generation makes the agent start the container again."""

    def attempt() -> Instance:
        instance = instance_of(renter, instance_id)
        check_action(instance, "restart")
        run_generation = instance.run_generation + 1
        move_instance(instance, InstanceState.RESTARTING, kind="restart_asked", actor=RENTER, run_generation=run_generation)
        touch_host(instance)
        return instance

    with use_case():
        return retry_stale(attempt)
