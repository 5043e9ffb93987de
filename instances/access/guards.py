"""Steps that every change of an instance's access shares: lock, state check, event and wake-ups."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from accounts.models import User
from common.errors import UnlawfulMove
from common.messages import Message
from instances.core.selectors import instance_of
from instances.core.transitions import RENTER, record_event, touch_host, touch_renter
from instances.errors import AllowListNotEnforced
from instances.models import Instance
from instances.states import ENDING

if TYPE_CHECKING:
    from marketplace.models import Host


def lock_for_access_change(renter: User, instance_id: UUID) -> Instance:
    """Lock and return the renter's instance for a change of its access.

    Raises NotFound, or UnlawfulMove when it is being released.
    """
    instance = instance_of(renter, instance_id)
    Instance.objects.select_for_update(no_key=True).only("pk").get(pk=instance.pk)
    instance = instance_of(renter, instance_id)
    if instance.state in ENDING:
        raise UnlawfulMove(f"An instance that is {instance.state} cannot be entered any more.", state=instance.state)
    return instance


def check_allow_list_enforced(host: "Host", networks: Sequence[str]) -> None:
    """Raise AllowListNotEnforced for a host whose firewall cannot enforce a list of networks.

    A list that nobody enforces would be worse than none.
    """
    if networks and host.keeps_ssh_list is False:
        raise AllowListNotEnforced(
            "The firewall of this host takes no rules from its agent, so a list of addresses would keep nobody out. Use keys"
            " alone, or take another host."
        )


def update_access(
    instance: Instance, *, kind: str, actor: str = RENTER, detail: Message | None = None, **fields: object
) -> None:
    Instance.objects.filter(pk=instance.pk).update(**fields)
    for name, value in fields.items():
        setattr(instance, name, value)
    record_event(instance, kind=kind, actor=actor, detail=detail)
    touch_host(instance)
    touch_renter(instance)
