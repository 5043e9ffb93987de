"""Changes of instances by short number; idempotent, since clients repeat requests."""

from typing import TYPE_CHECKING, Final
from uuid import UUID

from accounts.models import User
from common.errors import IllegalTransition, NotFound
from instances.core.selectors import instance_of
from instances.lifecycle.start import restart_instance, start_instance
from instances.lifecycle.stop import stop_instance
from instances.release.services import release_instance
from instances.schedules.settings import SettingsChange, change_settings
from instances.spot.bid_changes import withdraw_bid
from instances.states import ENDING, Desired, InstanceState
from instances.transfers.completion import cancel_transfer
from vast.contracts.states import UNLISTED
from vast.errors import InvalidArgs, NoSuchInstance
from vast.models import Kind
from vast.numbers.numbers import key_of

if TYPE_CHECKING:
    from instances.models import Instance

STATES: Final = ("running", "stopped")


def own_instance(renter: User, number: int, *, ended: bool = False) -> "Instance":
    """Return the renter's instance with this number; with `ended` also one that was released.

    Raises:
        NoSuchInstance: there is none.
    """
    try:
        found = instance_of(renter, key_of(Kind.INSTANCE, number))
    except NotFound as error:
        raise NoSuchInstance(f"You have no instance {number}.") from error
    if found.state in UNLISTED and not ended:
        raise NoSuchInstance(f"Instance {number} was destroyed.")
    return found


def set_state(*, renter: User, number: int, state: object) -> None:
    """Start or stop an instance: `state` is `running` or `stopped`."""
    instance = own_instance(renter, number)
    if state == "running":
        if instance.desired != Desired.RUNNING or instance.state == InstanceState.FAILED:
            start_instance(renter=renter, instance_id=instance.pk)
    elif state == "stopped":
        if instance.billing_mode == "spot" and instance.state in (InstanceState.STOPPING, InstanceState.STOPPED):
            withdraw_bid(renter=renter, instance_id=instance.pk)  # its bid would start it again
        elif instance.desired != Desired.STOPPED or instance.holds_gpus:
            stop_instance(renter=renter, instance_id=instance.pk)
    else:
        raise InvalidArgs("state: Send running or stopped.")


def set_label(*, renter: User, number: int, label: str) -> None:
    """Name an instance; an empty label gives it the name back that it would have had without one."""
    instance = own_instance(renter, number)
    name = label or f"{instance.image.slug}-{instance.pk.hex[-6:]}"
    change_settings(renter=renter, instance_id=instance.pk, wanted=SettingsChange({"name": name}))


def reboot(*, renter: User, number: int) -> None:
    """Restart the container on its GPUs."""
    instance = own_instance(renter, number)
    if instance.state != InstanceState.RESTARTING:
        restart_instance(renter=renter, instance_id=instance.pk, launch={})


def destroy(*, renter: User, number: int) -> UUID:
    """Release an instance and its data, and return its id. One that is gone already is a success.

    Raises IllegalTransition while what it waits for can't be cut off.
    """
    instance = own_instance(renter, number, ended=True)
    if instance.state in ENDING:
        return instance.pk
    if "release" not in instance.actions and "cancel-move" in instance.actions:
        cancel_transfer(renter=renter, instance_id=instance.pk)
    released = release_instance(renter=renter, instance_id=instance.pk)
    if released.state not in ENDING:
        raise IllegalTransition(
            f"Instance {number} is {released.state} and can't be destroyed now. Try again.",
            state=released.state,
            actions=released.actions,
        )
    return instance.pk
