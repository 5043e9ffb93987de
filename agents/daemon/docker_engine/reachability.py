"""Check whether connections from outside reach a container, by what the host alone decides.

The container is never asked: a program inside could answer one address and not another. A program that hangs,
refuses or is overloaded does not change anything that is checked here.
"""

import random
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from agents.daemon.docker_engine.dropped_packets import Packet, is_dropped

NET: Final = Path("/sys/class/net")
PROC: Final = Path("/proc")
ANYWHERE: Final = "0.0.0.0"  # noqa: S104 (the engine's name for it; nothing listens here)
ANYWHERE_V6: Final = "::"
PAIRS: Final = 3
TIMEOUT: Final = 2.0
_UP: Final = 1
_LISTENS: Final = "0A"
PROXY: Final = "docker-proxy"
_STOPPED: Final = ("T", "t")
_PEER: Final = struct.Struct("3i")

BRIDGE_GONE: Final = "The bridge of its network was removed on the host."
BRIDGE_DOWN: Final = "The bridge of its network is down on the host."
UNPLUGGED: Final = "Its connection to the bridge of its network was removed on the host."
NO_ROUTE: Final = "The host has no way to its network any more."
NOT_FORWARDED: Final = "The firewall rules that let connections in were removed on the host."
DROPPED: Final = "A rule of the host's firewall drops every connection to it from outside."
PROXY_STOPPED: Final = "The engine's program that carries connections to its published ports was stopped on the host."
NOT_PUBLISHED: Final = "Nothing on the host leads from its published ports to it any more."
# Set on purpose by somebody on the host: recreating the network would not help, and would interrupt it for a moment.
NOT_OURS_TO_MEND: Final = frozenset({DROPPED, PROXY_STOPPED})


@dataclass(frozen=True)
class PublishedPort:
    """Published port: connections to `host_port` at `host_ip` lead to `port` of the container."""

    host_ip: str
    host_port: int
    port: int


@dataclass(frozen=True)
class ContainerRoute:
    """Addresses and interfaces by which a running container is reached."""

    container: str
    bridge: str
    address: str
    gateway: str
    published_ports: tuple[PublishedPort, ...]


@dataclass(frozen=True)
class Rules:
    """Packet rules of the host as `iptables -S` prints them, and what listens.

    These are the ports on which the host itself listens, those of proxies that were stopped, and the interfaces on which
    traffic from the internet arrives.
    """

    nat: Sequence[str]
    filter: Sequence[str]
    forwarding: bool
    listening: frozenset[int]
    stopped: frozenset[int] = frozenset()
    outside: frozenset[str] = frozenset()


def route_fault(
    route: ContainerRoute, rules: Rules, closed: Callable[[ContainerRoute, PublishedPort], bool], net: Path = NET
) -> str:
    """Return what blocks connections, as a sentence for the renter; "" if nothing does.

    `closed` is called for a published port that neither a rule nor a program forwards.
    """
    return _link_fault(route, net) or next(
        filter(None, (_port_fault(route, published, rules, closed) for published in route.published_ports)), ""
    )


def _link_fault(route: ContainerRoute, net: Path) -> str:
    bridge = net / route.bridge
    try:
        if not int((bridge / "flags").read_text(), 16) & _UP:
            return BRIDGE_DOWN
        plugged = [port.name for port in (bridge / "brif").iterdir()]
    except FileNotFoundError:
        return BRIDGE_GONE
    if not any(_has_carrier(net / name) for name in plugged):
        return UNPLUGGED
    return "" if _source_towards(route.address) == route.gateway else NO_ROUTE


def _has_carrier(interface: Path) -> bool:
    try:
        return (interface / "carrier").read_text().strip() == "1"
    except OSError:  # it is down, or was just removed
        return False


def _source_towards(address: str) -> str:
    """Return the local address that would be used to send there, without sending anything."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((address, 9))
        except OSError:
            return ""
        return str(probe.getsockname()[0])


def _port_fault(
    route: ContainerRoute, published: PublishedPort, rules: Rules, closed: Callable[[ContainerRoute, PublishedPort], bool]
) -> str:
    """Return what blocks connections to one published port; "" if nothing does.

    Translated packets are forwarded, past any program. Those that are not translated, such as all of loopback and
    IPv6, go to the engine's own proxy.
    """
    target = f"--to-destination {route.address}:{published.port}"
    parts = (" -p tcp ", f"--dport {published.host_port} ")  # UDP at the same port has rules of its own
    translated = any(line.endswith(target) and all(part in line for part in parts) for line in rules.nat)
    if translated and ":" not in published.host_ip and not published.host_ip.startswith("127."):
        if not _is_forwarded(route, published, rules):
            return NOT_FORWARDED
        packet = Packet(rules.outside, route.bridge, route.address, published.port, published.host_port)
        return DROPPED if is_dropped(rules.filter, packet) else ""
    if published.host_port in rules.stopped:  # the kernel still takes connections for it
        return PROXY_STOPPED
    if published.host_port in rules.listening or not closed(route, published):
        return ""
    return NOT_PUBLISHED


def _is_forwarded(route: ContainerRoute, published: PublishedPort, rules: Rules) -> bool:
    if not rules.forwarding:
        return False
    if "-P FORWARD ACCEPT" in rules.filter or "-A FORWARD -j ACCEPT" in rules.filter:
        return True
    led = (f"-A FORWARD -o {route.bridge} -j DOCKER", "-A FORWARD -j DOCKER-FORWARD")
    accepted = (" -p tcp ", f" -d {route.address}/32 ", f" --dport {published.port} ", " -j ACCEPT")
    return any(line in led for line in rules.filter) and any(
        all(part in f"{line} " for part in accepted) for line in rules.filter
    )


def is_closed(route: ContainerRoute, published: PublishedPort) -> bool:
    """Return whether the published port refuses while the container's own port accepts.

    Both are tried several times, in an order that nobody inside can foresee. If nothing inside listens, nothing can
    be concluded.
    """
    outside = {"": "127.0.0.1", ANYWHERE: "127.0.0.1", ANYWHERE_V6: "::1"}.get(published.host_ip, published.host_ip)
    for _ in range(PAIRS):
        ends = [(outside, published.host_port), (route.address, published.port)]
        answers = {end: _connects(end) for end in random.sample(ends, 2)}
        if answers[ends[0]] or not answers[ends[1]]:
            return False
    return True


def _connects(end: tuple[str, int]) -> bool:
    try:
        socket.create_connection(end, timeout=TIMEOUT).close()
    except OSError:
        return False
    return True


def listening_ports(proc: Path = PROC) -> frozenset[int]:
    """Return the TCP ports of this machine on which any program listens."""
    found = set()
    for table in ("tcp", "tcp6"):
        path = proc / "net" / table
        for line in path.read_text().splitlines()[1:] if path.exists() else []:
            words = line.split()
            if words[3] == _LISTENS:
                found.add(int(words[1].rpartition(":")[2], 16))
    return frozenset(found)


def stopped_ports(proc: Path = PROC) -> frozenset[int]:
    """Return the published ports whose proxy exists but does not run, as after SIGSTOP."""
    found: set[int] = set()
    for folder in proc.glob("[0-9]*"):
        try:
            name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
            if name == PROXY and rest.split()[0] in _STOPPED:
                words = (folder / "cmdline").read_text().split("\0")
                found.update(int(port) for word, port in pairwise(words) if word == "-host-port")
        except OSError:  # it has ended meanwhile
            continue
    return frozenset(found)


def is_forwarding(proc: Path = PROC) -> bool:
    return (proc / "sys/net/ipv4/ip_forward").read_text().strip() == "1"


def shares_network_with(engine: str, proc: Path = PROC) -> bool:
    """Return whether the program behind the engine's socket is in this agent's own network namespace.

    If it is not, or if that cannot be seen, this machine's network says nothing about containers.
    """
    scheme, _, place = engine.partition("://")
    if scheme not in ("unix", "http+unix"):
        return False
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(TIMEOUT)
            connection.connect(place)
            pid, _, _ = _PEER.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size))
        return pid > 0 and (proc / str(pid) / "ns/net").stat().st_ino == (proc / "self/ns/net").stat().st_ino
    except OSError:
        return False
