"""Steps that every change of an instance's access shares: lock, state check, event and wake-ups."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from accounts.models import User
from common.errors import IllegalTransition
from common.messages.message import Message
from instances.core.selectors import instance_of
from instances.core.transitions import RENTER, record_event, touch_host, touch_renter
from instances.errors import AllowListNotEnforced
from instances.models import Instance
from instances.states import ENDING, InstanceState
from marketplace.hosts.selectors import can_keep_ssh_list

if TYPE_CHECKING:
    from marketplace.models import Host


def lock_for_access_change(renter: User, instance_id: UUID) -> Instance:
    """Lock and return the renter's instance for a change of its access.

    Raises NotFound, or IllegalTransition when it is being released.
    """
    instance = instance_of(renter, instance_id)
    Instance.objects.select_for_update(no_key=True).only("pk").get(pk=instance.pk)
    instance = instance_of(renter, instance_id)
    if instance.state in ENDING:
        raise IllegalTransition(f"An instance that is {instance.state} can't be accessed.", state=instance.state)
    return instance


def check_allow_list_enforced(host: "Host", networks: Sequence[str]) -> None:
    """Raise AllowListNotEnforced for a host whose firewall cannot enforce a list of networks.

    A list that nobody enforces would be worse than none.
    """
    if networks and host.keeps_ssh_list is False:
        raise _not_enforced()


def check_allow_list_of_order(host_id: UUID, networks: Sequence[str]) -> None:
    """Raise AllowListNotEnforced before anything is rented on a host whose firewall cannot enforce a list of networks."""
    if networks and not can_keep_ssh_list(host_id):
        raise _not_enforced()


def _not_enforced() -> AllowListNotEnforced:
    return AllowListNotEnforced(
        "The agent can't set firewall rules on this host, so an IP allowlist would have no effect. Use SSH keys only, or"
        " choose another host."
    )


def check_stays(instance: Instance) -> None:
    """Raise IllegalTransition for an instance that is being copied: on another host it has other ports."""
    if instance.state == InstanceState.COPYING:
        raise IllegalTransition("The ports can be changed once the copy has ended.", state=instance.state)


def update_access(
    instance: Instance, *, kind: str, actor: str = RENTER, detail: Message | None = None, **fields: object
) -> None:
    Instance.objects.filter(pk=instance.pk).update(**fields)
    for name, value in fields.items():
        setattr(instance, name, value)
    record_event(instance, kind=kind, actor=actor, detail=detail)
    touch_host(instance)
    touch_renter(instance)
