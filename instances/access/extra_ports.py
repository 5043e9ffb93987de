"""Extra ports of an instance.

Their host ports stay the same for life and are published from the next start on.
"""

from collections.abc import Sequence
from typing import Any, Final

from django.db import IntegrityError, transaction

from common.errors import Busy
from common.messages.message import Name
from instances.access.guards import update_access
from instances.core.access_selectors import ports_left_over
from instances.core.endpoints import check_ports, check_udp, container_ports, extra_ports
from instances.core.host_ports import take_ports
from instances.errors import NoPorts
from instances.models import Instance, InstancePort

_TRIES: Final = 3


def open_ports(instance: Instance, ports: Sequence[int] | None = None, udp_ports: Sequence[int] | None = None) -> None:
    """Open these container ports beside the image's own; ports that are open keep their host port.

    `udp_ports` are published for UDP as well as for TCP. Without `ports` those that are open stay, and without
    `udp_ports` those of the remaining ones that had UDP keep it. They are published from the next start or restart on,
    since a container's ports are fixed when it is created.

    Raises:
        InvalidInput: too many ports, or one that can't be exposed.
        UdpUnsupported: the host can't publish UDP ports.
        NoPorts: the host has none left.
    """
    own = container_ports(instance.image)
    if ports is None:
        ports = [inside for inside, _ in extra_ports(instance)]
    if udp_ports is None:
        udp_ports = [port for port in instance.udp_ports if port in ports]
    chosen, udp = check_ports(ports, own, udp_ports=udp_ports), sorted(set(udp_ports))
    check_udp(instance.host, [port for port in udp if port not in instance.udp_ports])
    before = [list(pair) for pair in instance.ports]
    kept = [pair for pair in before if pair[0] in own or pair[0] in chosen]
    fresh = [port for port in chosen if port not in dict(kept)]
    named = kept + [list(pair) for pair in zip(fresh, take_additional_ports(instance, len(fresh)), strict=True)]
    if named == before and udp == instance.udp_ports:
        return
    extra = [(f"{inside}/udp" if inside in udp else inside, outside) for inside, outside in named if inside not in own]
    detail = Name(name=", ".join(f"{inside} → {outside}" for inside, outside in extra))
    fields: dict[str, Any] = {"ports": named, "udp_ports": udp, "ports_from_generation": instance.run_generation + 1}
    update_access(instance, kind="ports_changed", detail=detail, **fields)


def free_closed_ports() -> int:
    """Free the host ports of closed ports once no container publishes them; return their number.

    This is a sweep.
    """
    return InstancePort.objects.filter(pk__in=list(ports_left_over())).delete()[0]


def take_additional_ports(instance: Instance, count: int) -> list[int]:
    """Take more host ports for an instance, inside a use case.

    Raises NoPorts or Busy.
    """
    if not count:
        return []
    host = instance.host
    for _ in range(_TRIES):
        try:
            with transaction.atomic():  # a savepoint, since another transaction may take the same port at this moment
                return take_ports(
                    instance_id=instance.pk, host_id=host.pk, first=host.port_first, last=host.port_last, count=count
                )
        except IntegrityError:
            continue
        except NoPorts as error:
            raise NoPorts("The host has no free ports. Close a port, or rent on another host.") from error
    raise Busy
