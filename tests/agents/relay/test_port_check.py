"""The relay dials a host from outside: its own address and ports alone, for a nonce that is good once, and not too often."""

import itertools
import secrets
import socket
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from agents.daemon.control_plane.port_check import listening
from agents.daemon.control_plane.udp_answers import answering
from agents.protocol.port_check import DIAL_PATH, PortCheckTarget, answer_to
from agents.protocol.tickets import sign_ticket
from agents.relay.port_check import DIALS
from agents.relay.udp_probe import TRIES

from .conftest import SECRET, Relay

HOST = "ab" * 16


def dial(
    relay: Relay,
    reach: PortCheckTarget,
    port: int,
    nonce: str = "",
    *,
    topic: str = "",
    secret: str = SECRET,
    protocol: str = "",
) -> httpx.Response:
    ticket = sign_ticket(secret, topic=topic or reach.topic, expires_at=int(time.time()) + 60)
    params: dict[str, Any] = {"ticket": ticket, "port": port, "nonce": nonce or secrets.token_hex(16), "protocol": protocol}
    return httpx.get(f"{relay.url}{DIAL_PATH}", params=params, timeout=20)


def anywhere(address: str = "127.0.0.1") -> PortCheckTarget:
    return PortCheckTarget(HOST, address, 1, 65_535)


@pytest.fixture
def open_relay(start_relay: Callable[..., Relay]) -> Relay:
    """In development: private addresses may be dialled."""
    return start_relay(reach_private=True)


def test_it_hears_the_nonce_of_the_agent_that_listens(open_relay: Relay) -> None:
    with listening("127.0.0.1", itertools.repeat(0, 1)) as (port, nonce):
        assert dial(open_relay, anywhere(), port, nonce).json() == {"reached": True, "reason": "", "through": "address"}
        again = dial(open_relay, anywhere(), port, nonce)
        assert (again.status_code, again.json()["code"]) == (409, "nonce_used")


def test_on_ipv6_too(open_relay: Relay) -> None:
    with listening("::1", itertools.repeat(0, 1)) as (port, nonce):
        assert dial(open_relay, anywhere("::1"), port, nonce).json()["reached"] is True


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_by_udp_too(open_relay: Relay, address: str) -> None:
    answer = {"reached": True, "reason": "", "through": "address", "protocol": "udp"}
    with answering(address, itertools.repeat(0, 1)) as (port, nonce):
        assert dial(open_relay, anywhere(address), port, nonce, protocol="udp").json() == answer
        assert dial(open_relay, anywhere(address), port, nonce, protocol="udp").json()["code"] == "nonce_used"
        assert dial(open_relay, anywhere(address), port, protocol="udp").json()["reason"] == "someone_else"


def test_nobody_who_answers_by_udp(open_relay: Relay) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        assert dial(open_relay, anywhere(), port, protocol="udp").json()["reason"] == "timeout"
        challenges = {held.recv(256) for _ in range(TRIES)}
    assert (len(challenges), {len(each) for each in challenges}) == (TRIES, {64})
    assert dial(open_relay, anywhere(), port, protocol="udp").json()["reason"] == "refused"


def test_an_agent_answers_nothing_but_challenges_and_no_longer_than_they_are() -> None:
    with answering("127.0.0.1", itertools.repeat(0, 1)) as (port, nonce), socket.socket(type=socket.SOCK_DGRAM) as guest:
        guest.settimeout(0.3)
        guest.connect(("127.0.0.1", port))
        for text in (b"", b"x" * 64, b"a" * 63, b"a" * 65, b"a" * 2000):
            guest.send(text)
        with pytest.raises(TimeoutError):
            guest.recv(256)
        guest.send(b"a" * 64)
        assert guest.recv(256) == answer_to(b"a" * 64, nonce)


def test_somebody_else_who_answers_is_not_the_host(open_relay: Relay) -> None:
    """Nothing of what was heard is told: the relay reads no service for anybody."""
    with listening("127.0.0.1", itertools.repeat(0, 1)) as (port, _nonce):
        reply = dial(open_relay, anywhere(), port)
    assert reply.json() == {"reached": False, "reason": "someone_else", "through": "address"}


def test_nobody_who_listens(open_relay: Relay) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        reply = dial(open_relay, anywhere(), held.getsockname()[1])
    assert reply.json()["reason"] == "refused"


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "::1",
        "fd00::1",
        "fe80::1",
        "localhost",
        "0.0.0.0",
    ],
)
def test_fault_098_in_production_no_private_address_is_dialled(start_relay: Callable[..., Relay], address: str) -> None:
    relay = start_relay()
    with listening("127.0.0.1", itertools.repeat(0, 1)) as (port, nonce):
        reply = dial(relay, anywhere(address), port, nonce)
    assert reply.json() == {"reached": False, "reason": "not_public", "through": "address"}


def test_only_its_own_ports(open_relay: Relay) -> None:
    reply = dial(open_relay, PortCheckTarget(HOST, "127.0.0.1", 20_000, 20_999), 22)
    assert (reply.status_code, reply.json()["code"]) == (403, "not_its_port")


def test_only_with_the_market_s_leave(open_relay: Relay) -> None:
    assert dial(open_relay, anywhere(), 80, secret="other").status_code == 401
    assert dial(open_relay, anywhere(), 80, topic=f"host:{HOST}").json()["code"] == "wrong_topic"
    assert dial(open_relay, anywhere(), 80, "no nonce").json()["code"] == "bad_nonce"


def test_not_too_often(open_relay: Relay) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        codes = [dial(open_relay, anywhere(), port).status_code for _ in range(DIALS + 1)]
        assert codes == [200] * DIALS + [429]
        other = PortCheckTarget("cd" * 16, "127.0.0.1", 1, 65_535)
        assert dial(open_relay, other, port).status_code == 200, "one host's share is not another's"


def test_no_host_makes_another_s_nonce_good_again(open_relay: Relay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.relay.port_check.HOSTS_KNOWN", 3)
    other = PortCheckTarget("cd" * 16, "127.0.0.1", 1, 65_535)
    with listening("127.0.0.1", itertools.repeat(0, 1)) as (port, nonce):
        assert dial(open_relay, anywhere(), port, nonce).json()["reached"] is True
        for _ in range(DIALS):
            dial(open_relay, other, port)
        assert dial(open_relay, anywhere(), port, nonce).json()["code"] == "nonce_used"


def test_a_host_behind_nat_is_reached_by_its_link(open_relay: Relay) -> None:
    reply = dial(open_relay, PortCheckTarget(HOST, "", 1, 2), 0)
    assert reply.json() == {"reached": False, "reason": "", "through": "relay"}
