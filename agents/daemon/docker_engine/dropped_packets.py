"""Check whether the host's own packet rules drop all new connections from outside to a container.

The rules are read from `iptables -S`. A rule that may not match every such packet (one for certain sources, a set,
or an unknown module) proves nothing: some connections may pass. Our own chains are not read: they block on purpose.
"""

import ipaddress
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from agents.daemon.docker_engine.container_spec import BRIDGE_PREFIX

OWN_CHAINS: Final = "BERTH"
# Interfaces whose packets do not come from outside: loopback, the engine's bridges and its ends of containers' links.
_INSIDE: Final = re.compile(rf"(lo|docker\d+|br-[0-9a-f]{{12}}|veth.*|{re.escape(BRIDGE_PREFIX)}.*)")
_DEPTH: Final = 32


class ChainVerdict(Enum):
    """Verdict of a chain on a packet."""

    DROPPED = "dropped"
    OPEN = "open"  # some packets may pass
    RETURNS = "returns"  # continues after the rule that jumped to the chain


@dataclass(frozen=True)
class Packet:
    """First packet of a connection from outside, after its translation.

    `interfaces` are those by which it may arrive.
    """

    interfaces: frozenset[str]
    bridge: str
    address: str
    port: int
    host_port: int


def is_dropped(rules: Sequence[str], packet: Packet) -> bool:
    """Return whether no new connection from outside is forwarded; such packets pass the chain FORWARD."""
    return _Walk(_chains(tuple(rules)), packet).verdict("FORWARD", _DEPTH) == ChainVerdict.DROPPED


def outside_interfaces(proc: Path) -> frozenset[str]:
    """Return the interfaces by which packets from outside may arrive, whatever the routes are."""
    names = (line.partition(":")[0].strip() for line in (proc / "net/dev").read_text().splitlines()[2:])
    return frozenset(name for name in names if name and not _INSIDE.fullmatch(name))


@lru_cache(maxsize=2)
def _chains(rules: tuple[str, ...]) -> Mapping[str, list[list[str]]]:
    """Return the rules of each chain as words. Kept, since it is asked for every port of every container."""
    chains: dict[str, list[list[str]]] = {}
    for line in rules:
        try:
            words = shlex.split(line)
        except ValueError:  # a comment with a stray quote or line break: it may hold or not
            words = line.split()
            words.insert(2, "--unreadable")
        if words[:1] == ["-A"] and len(words) > 1:
            chains.setdefault(words[1], []).append(words[2:])
    return chains


class _Walk:
    """Way of one packet through the chains; each chain is followed once."""

    def __init__(self, chains: Mapping[str, list[list[str]]], packet: Packet) -> None:
        self._chains = chains
        self._packet = packet
        self._known: dict[str, ChainVerdict] = {}

    def verdict(self, chain: str, depth: int) -> ChainVerdict:
        """Return what happens to the packet in a chain."""
        if chain not in self._known:
            self._known[chain] = self._follow(chain, depth)
        return self._known[chain]

    def _follow(self, chain: str, depth: int) -> ChainVerdict:
        certain = True  # whether every packet reaches this rule
        for rule in self._chains.get(chain, []):
            meets = _meets(rule, self._packet)
            target = next((value for word, value in pairwise(rule) if word in ("-j", "-g")), "")
            if meets is False or not target:
                continue
            if target == "RETURN":
                if meets:
                    break
                certain = False
                continue
            verdict = self._at(target, rule, depth)
            if verdict == ChainVerdict.OPEN or (verdict == ChainVerdict.DROPPED and meets and certain):
                return verdict
        return ChainVerdict.RETURNS

    def _at(self, target: str, rule: list[str], depth: int) -> ChainVerdict:
        if target in ("DROP", "REJECT"):
            return ChainVerdict.DROPPED
        if target in ("ACCEPT", "QUEUE", "NFQUEUE") or "-g" in rule or depth == 0:
            return ChainVerdict.OPEN
        if target.startswith(OWN_CHAINS):
            return ChainVerdict.RETURNS
        return self.verdict(target, depth - 1)  # a target that is no chain, such as LOG, has no rules


def _meets(rule: list[str], packet: Packet) -> bool | None:
    """Return whether the packet meets all conditions of the rule; None if that cannot be known."""
    answers = [answer if answer is None or not negated else not answer for negated, answer in _answers(rule, packet)]
    if False in answers:
        return False
    return None if None in answers else True


def _answers(rule: list[str], packet: Packet) -> Iterator[tuple[bool, bool | None]]:
    """Yield for each condition whether it is negated, and whether it holds."""
    words, negated = iter(rule), False
    for word in words:
        if word == "!":
            negated = True
            continue
        if word in ("-j", "-g"):
            return
        if word in ("-m", "--comment"):
            next(words, "")
        elif word in _CONDITIONS:
            yield negated, _holds(word, next(words, ""), packet)
        elif word.startswith("-"):
            yield negated, None
        negated = False


def _holds(condition: str, value: str, packet: Packet) -> bool | None:
    """Return whether a condition holds; None if it is written in a form that is not known here."""
    try:
        return _CONDITIONS[condition](value, packet)
    except ValueError:
        return None


def _comes_in(name: str, packet: Packet) -> bool | None:
    """Return whether the packet comes by this interface; None if it may.

    It does for certain only where there is no other interface by which it could arrive.
    """
    if name not in packet.interfaces and _INSIDE.fullmatch(name.removesuffix("+")):
        return False
    wide = name.removesuffix("+")
    hits = [face.startswith(wide) if name.endswith("+") else face == name for face in packet.interfaces]
    return True if hits and all(hits) else None


def _goes_out(name: str, packet: Packet) -> bool:
    return packet.bridge.startswith(name[:-1]) if name.endswith("+") else packet.bridge == name


def _is_to(network: str, packet: Packet) -> bool:
    return ipaddress.ip_address(packet.address) in ipaddress.ip_network(network, strict=False)


def _has_port(port: int) -> Callable[[str], bool]:
    def is_one_of(text: str) -> bool:
        ends = [part.partition(":") for part in text.split(",")]
        return any(int(first or 0) <= port <= int((last or 65535) if colon else first) for first, colon, last in ends)

    return is_one_of


# What each condition says of the packet; conditions that are not listed may hold or not.
_CONDITIONS: Final[Mapping[str, Callable[[str, Packet], bool | None]]] = {
    "-p": lambda text, packet: text in ("tcp", "6", "all"),
    "-d": _is_to,
    "-s": lambda text, packet: True if text == "0.0.0.0/0" else None,
    "-i": _comes_in,
    "-o": _goes_out,
    "--dport": lambda text, packet: _has_port(packet.port)(text),
    "--dports": lambda text, packet: _has_port(packet.port)(text),
    "--ctorigdstport": lambda text, packet: _has_port(packet.host_port)(text),
    "--ctstate": lambda text, packet: not {"NEW", "DNAT"}.isdisjoint(text.split(",")),
    "--state": lambda text, packet: "NEW" in text.split(","),
    "--ctdir": lambda text, packet: text == "ORIGINAL",
}
