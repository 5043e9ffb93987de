"""Ports of an instance: what each is for, which the renter may open, and whether they are published."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils.translation import gettext as _

from common.addresses import HIGHEST_PORT, displayable_address
from common.errors import FieldError, InvalidInput
from instances.constants import EXTRA_PORTS_AT_MOST, JUPYTER_PORT, SSH_PORT, TENSORBOARD_PORT
from instances.errors import UdpUnsupported
from instances.models import Instance
from marketplace.constants import HOST_SILENT_AFTER
from marketplace.states import HostState

if TYPE_CHECKING:
    from marketplace.models import Host
    from storage.models import Image


def container_ports(image: "Image") -> list[int]:
    """Return the image's own container ports, which renters neither open nor close."""
    served = ((SSH_PORT, True), (JUPYTER_PORT, image.has_jupyter), (TENSORBOARD_PORT, image.has_tensorboard))
    return [port for port, wanted in served if wanted]


def check_ports(ports: Sequence[int], own: Sequence[int], *, udp_ports: Sequence[int] = ()) -> list[int]:
    """Return both kinds of ports together, without duplicates, or raise InvalidInput.

    Ports that the image itself serves, and too many ports, are refused.
    """
    wrong = [
        FieldError(f"{field}.{position}", "invalid", _("Port %(port)s can't be exposed.") % {"port": port})
        for field, numbers in (("ports", ports), ("udp_ports", udp_ports))
        for position, port in enumerate(numbers)
        if not 0 < port <= HIGHEST_PORT or port in own
    ]
    chosen = list(dict.fromkeys([*ports, *udp_ports]))
    if len(chosen) > EXTRA_PORTS_AT_MOST:
        wrong.append(FieldError("ports", "max_length", _("Enter at most %(most)s ports.") % {"most": EXTRA_PORTS_AT_MOST}))
    if wrong:
        raise InvalidInput("These ports can't be opened.", errors=wrong)
    return chosen


def check_udp(host: "Host", udp_ports: Sequence[int]) -> None:
    """Raise UdpUnsupported for a host that would publish these ports for TCP alone, or that UDP doesn't reach."""
    if udp_ports and host.behind_nat:
        raise UdpUnsupported(
            "This host is behind NAT, and the relay that leads to it carries only TCP. Choose another host, or leave the UDP"
            " ports out."
        )
    if udp_ports and not host.publishes_udp:
        raise UdpUnsupported(
            "The agent of this host is too old to publish UDP ports. Choose another host, or leave the UDP ports out."
        )
    if udp_ports and host.udp_reached is False:
        raise UdpUnsupported(
            "UDP doesn't reach this host from outside, as its last self-test found. Choose another host, or leave the UDP"
            " ports out."
        )


def extra_ports(instance: Instance) -> list[tuple[int, int]]:
    """Return (container port, host port) of the ports that the renter has opened."""
    own = container_ports(instance.image)
    return [(inside, outside) for inside, outside in instance.ports if inside not in own]


def published_udp(instance: Instance) -> list[int]:
    """Return the container ports at which UDP arrives; none where the host has come behind NAT, or has an older agent."""
    return [] if instance.host.behind_nat or not instance.host.publishes_udp else instance.udp_ports


def port_text(instance: Instance, inside: int) -> str:
    """Return a container port as people write it: `8000`, or `51820/udp` where UDP is published too."""
    return f"{inside}/udp" if inside in instance.udp_ports else str(inside)


def ports_pending(instance: Instance) -> bool:
    """Return whether the container still publishes other ports, which change at its next start or restart."""
    return instance.stopped_at is None and instance.run_generation < instance.ports_from_generation


def is_reachable(instance: Instance, now: datetime) -> bool:
    """Return whether the instance's host reports; a silent host never changes the instance's own state."""
    host = instance.host
    return host.state == HostState.ONLINE and now - host.last_seen_at < HOST_SILENT_AFTER


def public_address(instance: Instance) -> str:
    """Return the address on which the instance's ports answer, or "" where that is unsafe in a shell.

    It is the host's, or for a host behind NAT the relay's, which listens on the same port numbers. Renters copy it
    into a shell command.
    """
    host = instance.host
    return displayable_address(settings.RELAY_TCP_ADDRESS or "" if host.behind_nat else host.address)
