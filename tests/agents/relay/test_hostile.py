"""What a hostile host, guest or stranger does to the relay is their own loss, and nobody else's."""

import base64
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from uuid import uuid4

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from agents.relay.tcp_listeners import MAX_NETWORKS

from .conftest import Relay, free_port, wait_until
from .test_revocation import revoke

Start = Callable[..., Relay]


@pytest.fixture
def relay(start_relay: Start) -> Relay:
    return start_relay(tcp_listen="127.0.0.1", tcp_ports=range(1_024, 65_536))


def health(relay: Relay) -> dict[str, Any]:
    found: dict[str, Any] = httpx.get(f"{relay.url}/healthz", timeout=20).json()
    return found


@contextmanager
def linked(relay: Relay, host: str) -> Iterator[ClientConnection]:
    address = relay.url.replace("http", "ws", 1)
    with connect(f"{address}/relay/v1/link?ticket={relay.ticket(f'link:{host}')}") as link:
        yield link


def tunnel(relay: Relay, host: str, port: int, **more: Any) -> dict[str, Any]:
    return {"relay_port": port, "ticket": relay.ticket(f"tunnel:{port}:{host}"), **more}


def claim(link: ClientConnection, *tunnels: dict[str, Any]) -> None:
    link.send(json.dumps({"tunnels": tunnels}))


def is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


def deaf(relay: Relay, path: str) -> socket.socket:
    """A WebSocket of somebody who reads nothing that is said on it."""
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    wire.connect(("127.0.0.1", httpx.URL(relay.url).port))
    key = base64.b64encode(os.urandom(16)).decode()
    head = f"GET {path} HTTP/1.1\r\nHost: relay\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    wire.sendall(f"{head}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
    return wire


def pour(guest: socket.socket) -> None:
    """Until nobody takes any more."""
    guest.settimeout(1)
    while True:
        try:
            guest.send(b"x" * 65_536)
        except TimeoutError:
            return


def test_a_host_that_does_not_read_holds_up_no_other_s_doors(relay: Relay) -> None:
    """It gives up a door through which somebody pours into a stream that it does not read."""
    mine, theirs, ports = uuid4().hex, uuid4().hex, (free_port(), free_port())
    with ExitStack() as ends:
        bad, good = ends.enter_context(linked(relay, mine)), ends.enter_context(linked(relay, theirs))
        claim(bad, tunnel(relay, mine, ports[0]))
        wait_until(lambda: health(relay)["tunnels"] == 1)
        guest = ends.enter_context(socket.create_connection(("127.0.0.1", ports[0])))
        stream = json.loads(bad.recv(timeout=20))["dial"]
        ends.enter_context(deaf(relay, f"/relay/v1/link/{stream}"))
        pour(guest)
        claim(bad)
        wait_until(lambda: health(relay)["tunnels"] == 0)
        claim(good, tunnel(relay, theirs, ports[1]))
        wait_until(lambda: is_open(ports[1]))


def test_who_is_revoked_loses_all_at_once_though_some_of_it_does_not_read(relay: Relay) -> None:
    host, port = uuid4().hex, free_port()
    address = relay.url.replace("http", "ws", 1)
    with ExitStack() as ends:
        link = ends.enter_context(linked(relay, host))
        claim(link, tunnel(relay, host, port))
        wait_until(lambda: health(relay)["tunnels"] == 1)

        def come_in() -> tuple[socket.socket, str]:
            guest = ends.enter_context(socket.create_connection(("127.0.0.1", port)))
            return guest, f"/relay/v1/link/{json.loads(link.recv(timeout=20))['dial']}"

        for _ in range(4):
            guest, path = come_in()
            ends.enter_context(deaf(relay, path))
            pour(guest)
        guest, path = come_in()
        listens = ends.enter_context(connect(f"{address}{path}"))
        guest.sendall(b"hello")
        assert listens.recv(timeout=20) == b"hello"
        revoke(host, at=time.time())
        for end in (link, listens):
            with pytest.raises(ConnectionClosed):
                end.recv(timeout=20)
        wait_until(lambda: health(relay)["tunnels"] == 0)


@pytest.mark.parametrize("port", ["Infinity", "-Infinity", "NaN", "1e999", '"x"', "null", "[1]", "{}"])
def test_a_port_that_is_none_costs_the_link_nothing(relay: Relay, port: str, caplog: pytest.LogCaptureFixture) -> None:
    host, own = uuid4().hex, free_port()
    with linked(relay, host) as link:
        link.send(f'{{"tunnels": [{{"relay_port": {port}, "ticket": "x"}}, {json.dumps(tunnel(relay, host, own))}]}}')
        wait_until(lambda: is_open(own))
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_one_message_is_one_line_of_the_log(relay: Relay, caplog: pytest.LogCaptureFixture) -> None:
    """And the many ports that it names hold up nobody for long."""
    host, own = uuid4().hex, free_port()
    with linked(relay, host) as link:
        claim(link, tunnel(relay, host, own), *({"relay_port": 1} for _ in range(60_000)))
        wait_until(lambda: health(relay)["tunnels"] == 1)
    assert len([record for record in caplog.records if record.name == "berth.relay" and host in record.getMessage()]) == 1


def test_a_door_for_more_networks_than_anybody_may_name_stays_shut(relay: Relay) -> None:
    """Each guest would be compared with all of them, while everybody waits."""
    host, ports = uuid4().hex, (free_port(), free_port())
    with linked(relay, host) as link:
        many = tunnel(relay, host, ports[0], allow=["10.0.0.1"] * 100_000)
        claim(link, many, tunnel(relay, host, ports[1], allow=["127.0.0.1"] * MAX_NETWORKS))
        wait_until(lambda: is_open(ports[1]))
        assert not is_open(ports[0])


def test_no_host_takes_another_s_door_or_answers_for_it(relay: Relay) -> None:
    mine, theirs, port = uuid4().hex, uuid4().hex, free_port()
    with linked(relay, theirs) as good, linked(relay, mine) as bad:
        claim(good, tunnel(relay, theirs, port))
        wait_until(lambda: health(relay)["tunnels"] == 1)
        claim(
            bad, tunnel(relay, theirs, port), tunnel(relay, mine, port) | {"ticket": relay.ticket(f"tunnel:{port}:{theirs}")}
        )
        with socket.create_connection(("127.0.0.1", port)):
            stream = json.loads(good.recv(timeout=20))["dial"]
            bad.send(json.dumps({"refused": stream, "code": "x", "detail": "forged"}))
            assert health(relay)["tunnels"] == 1
            address = relay.url.replace("http", "ws", 1)
            with connect(f"{address}/relay/v1/link/{stream}") as answer:
                answer.send(b"still there")


def test_of_two_links_of_one_host_the_newer_stays(relay: Relay) -> None:
    host = uuid4().hex
    with linked(relay, host) as older, linked(relay, host) as newer:
        with pytest.raises(ConnectionClosed, match="4409"):
            older.recv(timeout=20)
        newer.send("{}")
        assert health(relay)["links"] == 1


def test_heads_that_do_not_end_are_hung_up_on(relay: Relay, monkeypatch: pytest.MonkeyPatch) -> None:
    """400 who dribble, and one who sends without an end."""
    monkeypatch.setattr("agents.relay.http_limits.HEAD_S", 2.0)
    place = ("127.0.0.1", httpx.URL(relay.url).port)
    with ExitStack() as ends:
        slow = [ends.enter_context(socket.create_connection(place)) for _ in range(400)]
        for wire in slow[:300]:
            wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: relay\r\nX-Slow: ")
        assert health(relay)["status"] == "ok", "others are served meanwhile"
        for wire in slow:
            wire.settimeout(20)
            assert _hung_up(wire)
        endless = ends.enter_context(socket.create_connection(place))
        with pytest.raises(OSError):
            for _ in range(1_000):
                endless.sendall(b"x" * 65_536 if _ else b"GET /healthz HTTP/1.1\r\nX-Endless: ")
        with httpx.Client(base_url=relay.url) as client:  # one connection, a request after longer than a head may take
            assert [client.get("/healthz").status_code for _ in range(3)] == [200] * 3


def _hung_up(wire: socket.socket) -> bool:
    try:
        return wire.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_message_beyond_all_size_ends_its_link_alone(relay: Relay) -> None:
    with linked(relay, uuid4().hex) as good, linked(relay, uuid4().hex) as bad:
        bad.send("[" * 1_000_000)  # no JSON, however deep
        with pytest.raises(ConnectionClosed, match="1009"):
            bad.send("x" * 3_000_000)
            bad.recv(timeout=20)
        good.send("{}")
        assert health(relay)["links"] >= 1
