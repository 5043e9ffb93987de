"""Changes of the launch settings of an existing instance."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from accounts.models import User
from common.db.transactions import use_case
from common.errors import IllegalTransition
from instances.core.selectors import instance_of
from instances.core.transitions import RENTER, record_event, retry_stale, touch_renter
from instances.lifecycle.launch_columns import launch_fields
from instances.lifecycle.start import restart_instance
from instances.metering.reserved_terms import update_locked_columns
from instances.models import Instance
from instances.states import InstanceState

_AT_REST: Final = (InstanceState.STOPPED, InstanceState.FAILED)


def change_launch(*, renter: User, instance_id: UUID, changes: Mapping[str, Any]) -> Instance:
    """Change the launch settings of a stopped instance; they apply from its next start on.

    Raises IllegalTransition while it is not stopped (a restart takes changes too), LaunchUnsupported or InvalidInput.
    """

    def attempt() -> Instance:
        instance = instance_of(renter, instance_id)
        if instance.state not in _AT_REST:
            raise IllegalTransition(
                "What it runs changes while it is stopped, or with a restart.",
                state=instance.state,
                actions=instance.actions,
            )
        fields = launch_fields(instance, changes)
        if fields:
            update_locked_columns(instance, **fields)
            record_event(instance, kind="launch_changed", actor=RENTER)
            touch_renter(instance)
        return instance

    with use_case():
        return retry_stale(attempt)


def apply_launch(*, renter: User, instance_id: UUID, changes: Mapping[str, Any]) -> Instance:
    """Change the launch settings: of a running instance by restarting it, of a stopped one from its next start on.

    Raises IllegalTransition, LaunchUnsupported or InvalidInput.
    """
    if instance_of(renter, instance_id).state == InstanceState.RUNNING:
        return restart_instance(renter=renter, instance_id=instance_id, launch=changes)
    return change_launch(renter=renter, instance_id=instance_id, changes=changes)
