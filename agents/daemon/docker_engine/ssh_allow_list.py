"""Allow lists for SSH: one firewall chain for each instance that restricts who may connect."""

import ipaddress
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from agents.daemon.engine.interface import SSH_PORT

ENGINE_CHAIN: Final = "DOCKER-USER"

Call = Callable[..., "subprocess.CompletedProcess[str]"]  # runs iptables with these arguments
Load = Callable[[str], bool]  # runs iptables-restore with this text


def chain_name(bridge: str) -> str:
    return f"BERTH-{bridge.removeprefix('berth').upper()}"


def chain_rules(bridge: str, networks: Sequence[str]) -> list[str]:
    """Return the rules as `iptables -S` prints them.

    IPv6 networks are left out: there is no IPv6 inside, so they cannot match here. The relay applies them as well.
    """
    chain = chain_name(bridge)
    known = [ipaddress.ip_network(text, strict=False) for text in networks]
    from_where = sorted({str(network) for network in known if isinstance(network, ipaddress.IPv4Network)})
    return [
        *(f"-A {chain} -j RETURN" if text == "0.0.0.0/0" else f"-A {chain} -s {text} -j RETURN" for text in from_where),
        f"-A {chain} -j DROP",
    ]


def chain_jumps(bridge: str, port: int) -> list[tuple[str, str]]:
    """Return (chain, rule) for each path to an instance's sshd, which is published at `port` of the host.

    The rules see every packet, not only the first: a client that is removed from the list is cut off at once.

    Packets from outside are forwarded with their true source. What the engine's proxy carries (loopback, and
    whatever is not translated) arrives at the host's own port, still with its true source; the proxy's own
    connection to the container is not filtered. What the host itself sends to its published port is translated on
    its way out, and is recognized by that: its interface is still the original one.
    """
    gate = f"-j {chain_name(bridge)}"
    return [
        (ENGINE_CHAIN, f"-o {bridge} -p tcp -m tcp --dport {SSH_PORT} {gate}"),
        ("INPUT", f"-p tcp -m tcp --dport {port} {gate}"),
        ("OUTPUT", f"-p tcp -m conntrack --ctstate DNAT --ctorigdstport {port} {gate}"),
    ]


@dataclass(frozen=True)
class AllowList:
    """Networks that may connect to the SSH published at this port of the host; none: everyone."""

    networks: tuple[str, ...]
    port: int


class SshAllowList:
    """Allow lists in force on this host, by bridge; setting one again costs nothing."""

    def __init__(self, call: Call, load: Load) -> None:
        self._call = call
        self._load = load
        self._wanted: dict[str, AllowList] = {}

    def allow(self, bridge: str, networks: Sequence[str], port: int) -> bool:
        """Allow SSH from these networks alone, or from all if there are none; return whether this is in force."""
        wanted = AllowList(tuple(networks), port)
        if self._wanted.get(bridge) == wanted:
            return True
        if not wanted.networks:
            self.remove(bridge)  # an earlier agent may have set one
            self._wanted[bridge] = wanted
            return True
        self._wanted[bridge] = wanted
        return self._ensure(bridge, wanted)

    def is_restricted(self, port: int) -> bool:
        """Return whether the published port is restricted, so that the agent has to check SSH from inside."""
        return any(gate.port == port and gate.networks for gate in list(self._wanted.values()))

    def is_supported(self) -> bool:
        """Return whether this host's firewall supports allow lists at all."""
        return all([self._call("-S", place).returncode == 0 for place in (ENGINE_CHAIN, "INPUT", "OUTPUT")])

    def remove(self, bridge: str) -> None:
        """Remove the allow list; does nothing if there is none."""
        self._wanted.pop(bridge, None)
        chain = chain_name(bridge)
        if self._call("-S", chain).returncode != 0:
            return
        for place in (ENGINE_CHAIN, "INPUT", "OUTPUT"):
            self._remove_jumps(place, chain)
        self._call("-F", chain)
        self._call("-X", chain)

    def assert_all(self) -> bool:
        """Restore all allow lists, in case someone has flushed the firewall; return whether all are in force."""
        return all([self._ensure(bridge, gate) for bridge, gate in list(self._wanted.items()) if gate.networks])

    def _ensure(self, bridge: str, gate: AllowList) -> bool:
        chain, rules = chain_name(bridge), chain_rules(bridge, gate.networks)
        done = self._call("-S", chain)
        if [line.strip() for line in done.stdout.splitlines() if line.startswith("-A ")] != rules:
            text = "\n".join(["*filter", f":{chain} - [0:0]", *rules, "COMMIT", ""])
            if not self._load(text):
                return False
        return all([self._ensure_jump(place, jump.split()) for place, jump in chain_jumps(bridge, gate.port)])

    def _ensure_jump(self, place: str, jump: list[str]) -> bool:
        return self._call("-C", place, *jump).returncode == 0 or self._call("-I", place, "1", *jump).returncode == 0

    def _remove_jumps(self, place: str, chain: str) -> None:
        """Remove all jumps to the chain, for whichever port."""
        for line in self._call("-S", place).stdout.splitlines():
            words = line.split()
            if words[:2] == ["-A", place] and words[-2:] == ["-j", chain]:
                self._call("-D", place, *words[2:])
