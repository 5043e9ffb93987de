"""From where SSH of an instance may be reached: a chain of the host's firewall for each instance that says so."""

import ipaddress
import subprocess
from collections.abc import Callable, Sequence
from typing import Final

SSH_PORT: Final = 22
ENGINE_CHAIN: Final = "DOCKER-USER"

Call = Callable[..., "subprocess.CompletedProcess[str]"]  # iptables with these arguments
Load = Callable[[str], bool]  # iptables-restore with this text


def gate_chain(bridge: str) -> str:
    return f"BERTH-{bridge.removeprefix('berth').upper()}"


def gate_rules(bridge: str, networks: Sequence[str]) -> list[str]:
    """As `iptables -S` prints them. Without IPv6 inside, a network of it can let nobody in here; the relay knows it too."""
    chain = gate_chain(bridge)
    known = [ipaddress.ip_network(text, strict=False) for text in networks]
    from_where = sorted({str(network) for network in known if isinstance(network, ipaddress.IPv4Network)})
    return [
        *(f"-A {chain} -j RETURN" if text == "0.0.0.0/0" else f"-A {chain} -s {text} -j RETURN" for text in from_where),
        f"-A {chain} -j DROP",
    ]


def gate_jump(bridge: str) -> str:
    """Every packet, not the first alone: who is taken off the list is cut off at once."""
    return f"-o {bridge} -p tcp -m tcp --dport {SSH_PORT} -j {gate_chain(bridge)}"


class Gates:
    """The gates that stand on this host, by bridge. Setting one that stands already costs nothing."""

    def __init__(self, call: Call, load: Load) -> None:
        self._call = call
        self._load = load
        self._wanted: dict[str, tuple[str, ...]] = {}

    def allow(self, bridge: str, networks: Sequence[str]) -> bool:
        """From these networks alone, from everywhere when there are none; whether it is so now."""
        wanted = tuple(networks)
        if self._wanted.get(bridge) == wanted:
            return True
        if not wanted:
            self.drop(bridge)  # not known to have none: an agent before this one may have set it
            self._wanted[bridge] = wanted
            return True
        self._wanted[bridge] = wanted
        return self._stands(bridge, wanted)

    def drop(self, bridge: str) -> None:
        """No gate any more. Asked for again it does nothing."""
        self._wanted.pop(bridge, None)
        chain = gate_chain(bridge)
        if self._call("-S", chain).returncode != 0:
            return
        while self._call("-D", ENGINE_CHAIN, *gate_jump(bridge).split()).returncode == 0:
            pass
        self._call("-F", chain)
        self._call("-X", chain)

    def assert_all(self) -> bool:
        """After someone emptied the firewall."""
        return all([self._stands(bridge, networks) for bridge, networks in list(self._wanted.items()) if networks])

    def _stands(self, bridge: str, networks: Sequence[str]) -> bool:
        chain, rules, jump = gate_chain(bridge), gate_rules(bridge, networks), gate_jump(bridge).split()
        done = self._call("-S", chain)
        if [line.strip() for line in done.stdout.splitlines() if line.startswith("-A ")] != rules:
            text = "\n".join(["*filter", f":{chain} - [0:0]", *rules, "COMMIT", ""])
            if not self._load(text):
                return False
        if self._call("-C", ENGINE_CHAIN, *jump).returncode == 0:
            return True
        return self._call("-I", ENGINE_CHAIN, "1", *jump).returncode == 0
