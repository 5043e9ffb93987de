"""Whether something on the host keeps connections out, told from what the engine and the kernel show."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from agents.daemon.docker_engine import reachability
from agents.daemon.docker_engine.reachability import ANYWHERE, ContainerRoute, PublishedPort, Rules, is_closed, route_fault
from agents.daemon.docker_engine.reachability_watch import (
    AGAIN,
    EVERY,
    FIRST_REPAIR_DELAY,
    WHILE_UNREACHABLE,
    ReachabilityWatch,
)

PORT = PublishedPort(ANYWHERE, 21000, 22)
WAY = ContainerRoute("c", "berth0", "10.0.0.2", "10.0.0.1", (PORT,))
NAT = ("-A DOCKER ! -i berth0 -p tcp -m tcp --dport 21000 -j DNAT --to-destination 10.0.0.2:22",)
ACCEPT = "-A DOCKER -d 10.0.0.2/32 ! -i berth0 -o berth0 -p tcp -m tcp --dport 22 -j ACCEPT"
OLD = ("-P FORWARD DROP", "-A FORWARD -o berth0 -j DOCKER", ACCEPT)
NEW = ("-P FORWARD DROP", "-A FORWARD -j DOCKER-FORWARD", ACCEPT)  # Docker 28 and later
WHOLE = Rules(NAT, OLD, forwarding=True, listening=frozenset({21000}))


def never(way: ContainerRoute, door: PublishedPort) -> bool:
    raise AssertionError("nothing is asked of a container whose way is plain to see")


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bridge that is up, with the container's end in it."""
    for folder in ("berth0/brif/veth1", "veth1"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "berth0/flags").write_text("0x1003")
    (tmp_path / "veth1/carrier").write_text("1")
    monkeypatch.setattr(reachability, "_source_towards", lambda address: WAY.gateway)
    return tmp_path


@pytest.mark.parametrize("rules", [WHOLE, replace(WHOLE, filter=NEW), replace(WHOLE, listening=frozenset())])
def test_a_way_that_is_whole(net: Path, rules: Rules) -> None:
    assert route_fault(WAY, rules, never, net) == ""


@pytest.mark.parametrize(
    "rules",
    [
        replace(WHOLE, filter=OLD[:2]),
        replace(WHOLE, filter=(OLD[0], OLD[2])),
        replace(WHOLE, filter=(*OLD[:2], ACCEPT.replace("-p tcp -m tcp", "-p udp -m udp"))),  # UDP has a line of its own
        replace(WHOLE, forwarding=False),  # net.ipv4.ip_forward was set to 0
    ],
)
def test_what_is_translated_must_be_forwarded(net: Path, rules: Rules) -> None:
    assert route_fault(WAY, rules, never, net) == reachability.NOT_FORWARDED


def test_a_firewall_that_lets_all_through_forwards(net: Path) -> None:
    assert route_fault(WAY, replace(WHOLE, filter=("-P FORWARD ACCEPT",)), never, net) == ""


def test_without_rules_the_proxy_lets_in(net: Path) -> None:
    assert route_fault(WAY, replace(WHOLE, nat=(), filter=OLD[:1]), never, net) == ""


@pytest.mark.parametrize(("closed", "why"), [(True, reachability.NOT_PUBLISHED), (False, "")])
def test_where_nothing_is_seen_to_lead_in_it_is_tried(net: Path, *, closed: bool, why: str) -> None:
    """An engine may do it in a way that is not known here."""
    rules = replace(WHOLE, nat=(), listening=frozenset())
    assert route_fault(WAY, rules, lambda way, door: closed, net) == why
    local = replace(WAY, published_ports=(replace(PORT, host_ip="127.0.0.1"),))
    assert route_fault(local, replace(WHOLE, listening=frozenset()), lambda way, door: closed, net) == why


def test_the_link_comes_first(net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (net / "veth1/carrier").write_text("0")
    assert route_fault(WAY, WHOLE, never, net) == reachability.UNPLUGGED
    (net / "berth0/flags").write_text("0x1002")
    assert route_fault(WAY, WHOLE, never, net) == reachability.BRIDGE_DOWN
    assert route_fault(replace(WAY, bridge="berth1"), WHOLE, never, net) == reachability.BRIDGE_GONE
    (net / "berth0/flags").write_text("0x1003")
    (net / "veth1/carrier").write_text("1")
    monkeypatch.setattr(reachability, "_source_towards", lambda address: "192.0.2.1")
    assert route_fault(WAY, WHOLE, never, net) == reachability.NO_ROUTE


# -- trying a door: what a program inside can do about it


@contextmanager
def inside(backlog: int = 16) -> Iterator[int]:
    with socket.create_server(("127.0.0.2", 0), backlog=backlog) as server:
        yield server.getsockname()[1]


@contextmanager
def published() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def unused() -> int:
    with published() as port:
        return port


def way_to(inner: int, outer: int) -> tuple[ContainerRoute, PublishedPort]:
    return replace(WAY, address="127.0.0.2"), PublishedPort(ANYWHERE, outer, inner)


def test_a_door_that_leads_nowhere_is_closed() -> None:
    with inside() as port:
        assert is_closed(*way_to(port, unused()))


def test_an_open_door_is_not() -> None:
    with inside() as port, published() as outer:
        assert not is_closed(*way_to(port, outer))


def test_where_nothing_listens_nothing_is_known() -> None:
    assert not is_closed(*way_to(unused(), unused()))


def test_a_program_that_takes_no_more_connections_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reachability, "TIMEOUT", 0.1)
    with inside(backlog=0) as port:
        callers = [socket.socket() for _ in range(4)]
        try:
            for caller in callers:
                caller.setblocking(False)
                caller.connect_ex(("127.0.0.2", port))
            assert not is_closed(*way_to(port, unused()))
        finally:
            for caller in callers:
                caller.close()


# -- the watch


class Hosted:
    """A host of one container that is cut off by hand, under a clock of its own."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}
        self.now = 0.0
        self.watch = ReachabilityWatch(lambda: self.found, clock=lambda: self.now)


def test_a_finding_counts_when_it_is_found_again() -> None:
    host = Hosted()
    assert host.watch.look() == (False, EVERY)
    host.found = {"c": "The bridge is gone."}
    assert host.watch.look() == (False, AGAIN)
    assert host.watch.unreachable_reason("c") == ""
    assert host.watch.look() == (True, WHILE_UNREACHABLE)
    assert host.watch.unreachable_reason("c") == "The bridge is gone."
    host.found = {}
    assert host.watch.look() == (True, EVERY)
    assert host.watch.unreachable_reason("c") == ""


def test_what_its_owner_did_is_not_ours_to_mend() -> None:
    host = Hosted()
    host.found = {"c": reachability.DROPPED}
    host.watch.look()
    assert host.watch.look() == (True, WHILE_UNREACHABLE)
    assert not host.watch.is_repair_due("c") and not host.watch.is_ours_to_mend("c")


def test_a_proxy_that_was_stopped_lets_nobody_in(net: Path, tmp_path: Path) -> None:
    for pid, name, state in ((10, "docker-proxy", "T"), (11, "docker-proxy", "S"), (12, "other", "T")):
        folder = tmp_path / str(pid)
        folder.mkdir()
        (folder / "stat").write_text(f"{pid} ({name}) {state} 1 1")
        (folder / "cmdline").write_text("\0".join(["docker-proxy", "-host-port", str(21000 + pid), "-container-port", "22"]))
    assert reachability.stopped_ports(tmp_path) == {21010}
    local = replace(WAY, published_ports=(replace(PORT, host_ip="127.0.0.1"),))
    rules = replace(WHOLE, stopped=frozenset({21000}))
    assert route_fault(local, rules, never, net) == reachability.PROXY_STOPPED
    assert route_fault(WAY, rules, never, net) == "", "what is translated passes by it"


def test_what_does_not_help_is_tried_ever_more_rarely() -> None:
    """Each attempt takes the network away for a moment, and with it what the renter has connected to."""
    host = Hosted()
    assert not host.watch.is_repair_due("c")
    host.found = {"c": "The bridge is gone."}
    host.watch.look()
    host.watch.look()
    pauses = []
    for _ in range(7):
        assert host.watch.is_repair_due("c")
        host.watch.record_attempt("c")
        begun = host.now
        while not host.watch.is_repair_due("c"):
            host.now += FIRST_REPAIR_DELAY
            host.watch.look()
        pauses.append(host.now - begun)
    assert pauses == [30, 60, 120, 240, 480, 600, 600]
