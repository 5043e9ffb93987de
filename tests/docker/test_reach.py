"""Hosts as the internet has them, in network namespaces: public, firewalled, behind NAT or a carrier's, IPv6 alone."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

import pytest

pytestmark = pytest.mark.docker  # needs root, as an engine does

MARKET, PUBLIC, HOST_V6, MARKET_V6 = "45.67.8.1", "45.67.8.2", "2a0b:1::2", "2a0b:1::1"
PORTS: Final = (20_000, 20_999)
_HOST: Final = """
import json, sys
from agents.daemon.control_plane.own_address import own_address
from agents.daemon.control_plane.port_check import listening
from agents.daemon.control_plane.udp_answers import answering
opened = answering if sys.argv[3] else listening
with opened(sys.argv[2], iter(range(20000, 20010))) as (port, nonce):
    print(json.dumps([own_address(sys.argv[1], "0.0.0.0"), port, nonce]), flush=True)
    sys.stdin.readline()
"""
_RELAY: Final = """
import asyncio, sys
from agents.relay.port_check import PortChecker
udp = bool(sys.argv[4])
print(asyncio.run(PortChecker(private=False).dial(sys.argv[1], int(sys.argv[2]), sys.argv[3], udp=udp)))
"""


def ip(*words: str, inside: str = "") -> None:
    line = ["ip", *(["-n", inside] if inside else []), *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (line, done.stderr)


@dataclass
class Net:
    """Namespaces of this test alone, joined by pairs of interfaces."""

    prefix: str = field(default_factory=lambda: f"br{os.getpid() % 10_000}")
    spaces: list[str] = field(default_factory=list)

    def add(self, name: str) -> str:
        space = f"{self.prefix}{name}"
        ip("netns", "add", space)
        self.spaces.append(space)
        ip("link", "set", "lo", "up", inside=space)
        return space

    def join(self, one: str, its: str, other: str, others: str) -> None:
        ends = {one: f"to{other[-1]}", other: f"to{one[-1]}"}
        ip("link", "add", ends[one], "netns", one, "type", "veth", "peer", "name", ends[other], "netns", other)
        for space, address in ((one, its), (other, others)):
            ip("address", "add", address, "dev", ends[space], *(["nodad"] if ":" in address else []), inside=space)
            ip("link", "set", ends[space], "up", inside=space)

    def run(self, space: str, *line: str) -> None:
        subprocess.run(["ip", "netns", "exec", space, *line], check=True, timeout=30)

    def python(self, space: str, program: str, *words: str) -> "subprocess.Popen[str]":
        whole = ["ip", "netns", "exec", space, sys.executable, "-c", program, *words]
        return subprocess.Popen(whole, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self) -> None:
        for space in self.spaces:
            subprocess.run(["ip", "netns", "delete", space], check=False)


@pytest.fixture
def net(engine: object) -> Iterator[Net]:
    with ExitStack() as stack:
        made = Net()
        stack.callback(made.close)
        yield made


def tried(
    net: Net, host: str, market: str, url: str, *, listen: str = "0.0.0.0", dialled: str = "", udp: str = ""
) -> tuple[str, str]:
    """What the host takes for its address, and what the relay hears there, or at `dialled`."""
    program = net.python(host, _HOST, url, listen, udp)
    try:
        assert program.stdout is not None
        address, port, nonce = json.loads(program.stdout.readline())
        relay = net.python(market, _RELAY, dialled or address, str(port), nonce, udp)
        heard, _ = relay.communicate(timeout=60)
        return address, heard.strip()
    finally:
        program.communicate("done\n", timeout=60)


def test_a_public_host_is_reached_and_a_firewalled_one_is_told(net: Net) -> None:
    market, host = net.add("m"), net.add("h")
    net.join(market, f"{MARKET}/24", host, f"{PUBLIC}/24")
    url = f"http://{MARKET}:8000"
    assert tried(net, host, market, url) == (PUBLIC, "")
    rule = ["iptables", "-A", "INPUT", "-p", "tcp", "--dport", "20000:20999"]
    net.run(host, *rule, "-j", "REJECT", "--reject-with", "tcp-reset")
    assert tried(net, host, market, url) == (PUBLIC, "refused")
    assert tried(net, host, market, url, udp="udp") == (PUBLIC, ""), "the wall is against TCP"


@pytest.mark.parametrize(
    ("jump", "reason"), [(("DROP",), "timeout"), (("REJECT", "--reject-with", "icmp-port-unreachable"), "refused")]
)
def test_a_firewall_that_udp_does_not_pass_is_told(net: Net, jump: tuple[str, ...], reason: str) -> None:
    market, host = net.add("m"), net.add("h")
    net.join(market, f"{MARKET}/24", host, f"{PUBLIC}/24")
    net.run(host, "iptables", "-A", "INPUT", "-p", "udp", "--dport", "20000:20999", "-j", *jump)
    url = f"http://{MARKET}:8000"
    assert tried(net, host, market, url, udp="udp") == (PUBLIC, reason)
    assert tried(net, host, market, url) == (PUBLIC, "")


@pytest.mark.parametrize("inside", ["192.168.7", "10.9.8", "100.64.3"])
def test_behind_nat_and_a_carrier_s_nat_it_offers_no_address(net: Net, inside: str) -> None:
    """A router in between: the host gets out, nobody gets in, and its own address is good for nobody."""
    market, router, host = net.add("m"), net.add("r"), net.add("h")
    net.join(market, f"{MARKET}/24", router, f"{PUBLIC}/24")
    net.join(router, f"{inside}.1/24", host, f"{inside}.2/24")
    ip("route", "add", "default", "via", f"{inside}.1", inside=host)
    net.run(router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    net.run(router, "iptables", "-t", "nat", "-A", "POSTROUTING", "-j", "MASQUERADE")
    address, heard = tried(net, host, market, f"http://{MARKET}:8000", dialled=PUBLIC)
    assert (address, heard) == ("", "refused")
    assert tried(net, host, market, f"http://{MARKET}:8000", dialled=f"{inside}.2")[1] == "not_public"


def test_a_host_with_ipv6_alone(net: Net) -> None:
    market, host = net.add("m"), net.add("h")
    net.join(market, f"{MARKET_V6}/64", host, f"{HOST_V6}/64")
    assert tried(net, host, market, f"http://[{MARKET_V6}]:8000", listen="::") == (HOST_V6, "")
    assert tried(net, host, market, f"http://{MARKET}:8000", listen="::", dialled=HOST_V6) == ("", "")
