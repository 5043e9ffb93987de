"""What cuts a running instance off on its host, done for real: seen, mended, and not reported as running meanwhile."""

import ipaddress
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.docker_engine import reachability_watch
from agents.daemon.docker_engine.container_spec import bridge_name, network_name
from agents.daemon.docker_engine.reachability import DROPPED, PROXY_STOPPED
from agents.daemon.reconciler.report_phases import UNREACHABLE
from agents.protocol.messages import DesiredInstance
from tests.docker.conftest import Host, Ssh, eventually
from tests.waiting import wait_until

pytestmark = pytest.mark.docker

NET = Path("/sys/class/net")
SOON = 0.3


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    for pause in ("EVERY", "WHILE_UNREACHABLE", "AGAIN"):
        monkeypatch.setattr(reachability_watch, pause, SOON)


def must(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def bridge_of(order: DesiredInstance) -> str:
    return bridge_name(order.id)


def address_of(host: Host, order: DesiredInstance) -> str:
    networks = host.inspect(order)["NetworkSettings"]["Networks"]
    return str(networks[network_name(order.id)]["IPAddress"])


def drop_rules(table: str, address: str) -> None:
    """What the engine set up for this one container, as a flush of all would."""
    for line in must("iptables", "--wait", "-S", "DOCKER", "-t", table).splitlines():
        if any(f"{address}{mark}" in line for mark in ("/32 ", ":")):
            must("iptables", "--wait", "-t", table, "-D", *line.split()[1:])


def proxies_of(address: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"docker-proxy") and address.encode() in words:
            found.append(int(folder.name))
    return found


def end_proxies(host: Host, order: DesiredInstance) -> None:
    for pid in proxies_of(address_of(host, order)):
        os.kill(pid, signal.SIGKILL)


def remove_bridge(host: Host, order: DesiredInstance) -> None:
    must("ip", "link", "delete", bridge_of(order))


def set_bridge_down(host: Host, order: DesiredInstance) -> None:
    must("ip", "link", "set", bridge_of(order), "down")


def unplug(host: Host, order: DesiredInstance) -> None:
    [end] = (NET / bridge_of(order) / "brif").iterdir()
    must("ip", "link", "delete", end.name)


def take_address(host: Host, order: DesiredInstance) -> None:
    must("ip", "addr", "flush", "dev", bridge_of(order))


def flush_forwarding(host: Host, order: DesiredInstance) -> None:
    drop_rules("filter", address_of(host, order))


def flush_translation(host: Host, order: DesiredInstance) -> None:
    """With the proxies: as long as one is there it lets in what is not translated."""
    drop_rules("nat", address_of(host, order))
    end_proxies(host, order)


Harm = Callable[[Host, DesiredInstance], None]
HARMS: dict[str, tuple[str, Harm]] = {
    "bridge removed": ("127.0.0.1", remove_bridge),
    "bridge down": ("127.0.0.1", set_bridge_down),
    "unplugged": ("127.0.0.1", unplug),
    "address of the bridge gone": ("127.0.0.1", take_address),
    "proxies killed": ("127.0.0.1", end_proxies),
    "rules of forwarding gone": ("0.0.0.0", flush_forwarding),
    "rules of translation gone": ("0.0.0.0", flush_translation),
}


@pytest.mark.parametrize("name", HARMS)
def test_what_cuts_it_off_is_seen_and_mended(host: Host, order: DesiredInstance, ssh: Ssh, name: str) -> None:
    listen, harm = HARMS[name]
    host.market.report_interval_s = 1.0
    host.config = replace(host.config, listen=listen)
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    started = host.inspect(order)["State"]["StartedAt"]
    address = address_of(host, order)
    harm(host, order)
    cut = host.market.until_phase(order.id, "unknown", 1)
    assert cut.failure_code == UNREACHABLE and cut.detail
    host.market.until_phase(order.id, "running", 1)
    eventually(lambda: ssh.run(order, "true").returncode == 0, "SSH answers again", 30.0)
    assert host.inspect(order)["State"]["StartedAt"] == started, "its programs went on"
    assert address_of(host, order) == address


@contextmanager
def rule(chain: str, *words: str) -> Iterator[None]:
    """Of the host's owner, before all others."""
    must("iptables", "--wait", "-I", chain, *words)
    try:
        yield
    finally:
        must("iptables", "--wait", "-D", chain, *words)


@contextmanager
def stopped_proxies(host: Host, order: DesiredInstance) -> Iterator[None]:
    found = proxies_of(address_of(host, order))
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in found:
            os.kill(pid, signal.SIGCONT)


BLOCKS: dict[str, tuple[str, str, Callable[[Host, DesiredInstance], AbstractContextManager[None]]]] = {
    "a rule for its bridge": (
        "0.0.0.0",
        DROPPED,
        lambda host, order: rule("DOCKER-USER", "-o", bridge_of(order), "-j", "DROP"),
    ),
    "a rule for its address and port": (
        "0.0.0.0",
        DROPPED,
        lambda host, order: rule("FORWARD", *f"-d {address_of(host, order)} -p tcp --dport 22 -j REJECT".split()),
    ),
    "stopped proxies": ("127.0.0.1", PROXY_STOPPED, stopped_proxies),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_what_its_owner_keeps_out_is_seen_and_left_alone(
    host: Host, order: DesiredInstance, outside: Any, name: str
) -> None:
    """Connections are dead from outside though every rule of the engine stands; its network is not made anew for that."""
    listen, why, block = BLOCKS[name]
    host.market.report_interval_s = 1.0
    host.config = replace(host.config, listen=listen)
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    port = dict(order.ports)[22]
    reaches: Callable[[], bool] = (lambda: outside(port)) if listen == "0.0.0.0" else (lambda: greeted(listen, port))
    network = host.inspect(order)["NetworkSettings"]["Networks"][network_name(order.id)]["NetworkID"]
    wait_until("it is reached from outside", reaches)
    with block(host, order):
        cut = host.market.until_phase(order.id, "unknown", 1)
        assert (cut.failure_code, cut.detail) == (UNREACHABLE, why)
        assert not reaches()
    host.market.until_phase(order.id, "running", 1)
    wait_until("it is reached from outside again", reaches)
    assert host.inspect(order)["NetworkSettings"]["Networks"][network_name(order.id)]["NetworkID"] == network


@pytest.fixture
def outside() -> Iterator[Callable[[int], bool]]:
    """Asks for a port of this machine from a network that is not its own."""
    number = os.getpid() % 16_000
    name, net = f"bo{number}", f"198.18.{number // 64}.{number % 64 * 4}"  # RFC 2544; one that was killed leaves its own
    near, far = (str(ipaddress.ip_address(net) + each) for each in (1, 2))
    must("ip", "netns", "add", name)
    try:
        must("ip", "link", "add", name, "type", "veth", "peer", "name", "out", "netns", name)
        must("ip", "addr", "add", f"{near}/30", "dev", name)
        must("ip", "link", "set", name, "up")
        for words in (f"addr add {far}/30 dev out", "link set out up", f"route add default via {near}"):
            must("ip", "-n", name, *words.split())
        ask = f"import socket, sys; print(socket.create_connection(('{near}', int(sys.argv[1])), 3).recv(8))"
        yield (
            lambda port: (
                subprocess.run(
                    ["ip", "netns", "exec", name, sys.executable, "-c", ask, str(port)], capture_output=True, check=False
                ).stdout
                == b"b'SSH-2.0-'\n"
            )
        )
    finally:
        must("ip", "netns", "delete", name)
        subprocess.run(["ip", "link", "delete", name], check=False, capture_output=True)


def greeted(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=5) as connection:
            return connection.recv(8) == b"SSH-2.0-"
    except OSError:
        return False


@pytest.mark.parametrize(("listen", "addresses"), [("::", ("127.0.0.1", "::1")), ("::1", ("::1",))])
def test_an_instance_is_reached_by_ipv6(host: Host, order: DesiredInstance, listen: str, addresses: tuple[str, ...]) -> None:
    """`::` is both families. What leads there from IPv6 is seen and mended like the rest."""
    host.market.report_interval_s = 1.0
    host.config = replace(host.config, listen=listen)
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    port = dict(order.ports)[22]
    assert all(greeted(address, port) for address in addresses)
    end_proxies(host, order)
    if listen == "::1":
        assert host.market.until_phase(order.id, "unknown", 1).failure_code == UNREACHABLE
        host.market.until_phase(order.id, "running", 1)
        eventually(lambda: greeted("::1", port), "it is reached again", 30.0)


FULL_PERL = """
use IO::Socket::INET; $| = 1;
$door = IO::Socket::INET->new(LocalPort => 8888, Listen => 1, ReuseAddr => 1) or die;
push @callers, IO::Socket::INET->new(PeerAddr => "127.0.0.1:8888", Blocking => 0) for 1 .. 8;
print "full\\n"; sleep 600;
"""


def test_what_a_renter_does_inside_is_never_the_hosts(
    host: Host, order: DesiredInstance, ssh: Ssh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped SSH server, a program that takes no more connections, and nothing at all at the other ports: it goes on
    being reported as running, look after look."""
    looks: list[bool] = []
    look = reachability_watch.ReachabilityWatch.look

    def counted(self: reachability_watch.ReachabilityWatch) -> tuple[bool, float]:
        found = look(self)
        looks.append(bool(self._suspected))
        return found

    monkeypatch.setattr(reachability_watch.ReachabilityWatch, "look", counted)
    host.market.report_interval_s = 1.0
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    container = host.inspect(order)["Id"]
    full = subprocess.Popen(["docker", "exec", container, "perl", "-e", FULL_PERL], stdout=subprocess.PIPE, text=True)
    assert full.stdout is not None and full.stdout.readline() == "full\n"
    must("docker", "exec", container, "pkill", "-STOP", "-x", "sshd")
    report_count, seen = len(host.market.reports), len(looks)
    eventually(lambda: len(looks) >= seen + 6, "it looks again")
    assert not any(looks[seen:])
    assert {row.phase for report in host.market.reports[report_count:] for row in report.instances} <= {"running"}
    must("docker", "exec", container, "pkill", "-CONT", "-x", "sshd")
    full.kill()
    full.communicate()
