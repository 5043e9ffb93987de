"""Streams from end to end over real sockets: client, relay, agent, and what the agent leads to."""

import asyncio
import hashlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from agents.daemon.streams.peer_connection import PeerConnection, PeerConnectionLost
from agents.relay.connection_registry import DialRefused, NotLinked

from .conftest import SECRET, Relay, free_port, hub, wait_until
from .streaming import Service, StreamHost, echo

MEGABYTE = 2**20


@pytest.fixture
def start_relay_with_ports(start_relay: Callable[..., Relay]) -> Callable[[], Relay]:
    return lambda: start_relay(tcp_ports=range(1024, 65536))


def on_relay(relay: Relay, work: Any) -> Any:
    """The outcome of a coroutine on the relay's own loop."""
    return asyncio.run_coroutine_threadsafe(work, relay.switchboard._listener.get_loop()).result(20)  # type: ignore[union-attr]


def client(relay: Relay, ticket: str, **more: Any) -> Any:
    url = relay.url.replace("http", "ws", 1) + f"/relay/v1/streams?ticket={ticket}&size=120x40"
    return connect(url, compression=None, max_size=None, **more)


async def close_of(ws: ClientConnection) -> tuple[int | None, str]:
    try:
        while True:
            await asyncio.wait_for(ws.recv(), 15)
    except ConnectionClosed:
        return ws.close_code, ws.close_reason or ""


async def _send_all(ws: ClientConnection, blob: bytes) -> None:
    for at in range(0, len(blob), 65536):
        await ws.send(blob[at : at + 65536])


def test_a_port_is_reached_with_its_bytes_in_order_and_its_own_end(relay: Relay, host: StreamHost) -> None:
    async def talk() -> None:
        async with client(relay, host.ticket(host.grant("port", port=80))) as ws:
            await ws.send(b"a")
            assert await ws.recv() == b"a"
            blob = os.urandom(3 * MEGABYTE)
            sending = asyncio.create_task(_send_all(ws, blob))
            back = b""
            while len(back) < len(blob):
                back += await ws.recv()
            await sending
            assert hashlib.sha256(back).digest() == hashlib.sha256(blob).digest()
            await ws.send('{"eof":true}')
            assert [await ws.recv(), await ws.recv()] == [b"bye", '{"eof": true}']

    with Service(echo) as service:
        host.containers.ports[80] = service.port
        asyncio.run(asyncio.wait_for(talk(), 30))
    wait_until(lambda: host.streams.sessions(host.instance) == 0)


def test_who_may_not_enter_is_told_why(relay: Relay, host: StreamHost) -> None:
    async def refusal(ticket: str, **more: Any) -> tuple[int | None, str]:
        async with client(relay, ticket, **more) as ws:
            return await close_of(ws)

    def ask(ticket: str, **more: Any) -> tuple[int | None, str]:
        return asyncio.run(refusal(ticket, **more))

    once = host.ticket(host.grant("exec", session="s"))
    many = host.ticket(host.grant("port", port=9, once=False))
    assert ask("nonsense") == (4401, "bad_ticket")
    assert ask(host.sign(f"link:{host.id}")) == (4401, "bad_ticket")
    assert ask(once, origin="https://evil.example") == (4401, "bad_ticket")
    assert ask(host.ticket(host.grant("port", port=80, key="00" * 32))) == (4409, "bad_grant")
    assert ask(host.ticket(host.grant("port", port=80, lifetime_s=-1))) == (4409, "bad_grant")
    assert ask(host.ticket(host.grant("dance"))) == (4409, "unknown_kind")
    assert [ask(many), ask(many)] == [(4409, "port_silent")] * 2
    other = host.ticket(host.grant("port", port=80, instance="0" * 32))
    assert ask(other) == (4409, "not_running")

    async def twice() -> tuple[int | None, str]:
        async with client(relay, once) as first:
            assert await first.recv() == b"$ "
            async with client(relay, once) as second:
                return await close_of(second)

    assert asyncio.run(twice()) == (4409, "grant_used")
    host.follow(run="stopped")
    wait_until(lambda: ask(host.ticket(host.grant("exec"))) == (4409, "not_running"))


def test_the_control_plane_s_clock_counts_not_the_host_s(relay: Relay, new_host: Callable[[], StreamHost]) -> None:
    ahead = new_host()
    ahead.follow(ahead_s=86_400)
    wait_until(lambda: hub(relay).is_linked(ahead.id))
    with pytest.raises(DialRefused, match="expired"):
        on_relay(relay, hub(relay).dial(host=ahead.id, grant=ahead.grant("port", port=80)))
    with pytest.raises(NotLinked):
        on_relay(relay, hub(relay).dial(host="0" * 32, grant="", timeout_s=0.2))


def test_a_terminal_keeps_its_shell_while_its_connection_breaks(relay: Relay, host: StreamHost) -> None:
    def ticket() -> str:
        return host.ticket(host.grant("exec", session="mine"))

    async def first() -> None:
        async with client(relay, ticket()) as ws:
            assert await ws.recv() == b"$ "
            shell = host.containers.shells[0]
            await ws.send("你好 ✓\r".encode())
            assert await asyncio.to_thread(shell.inside.recv, 100) == "你好 ✓\r".encode()
            await ws.send('{"resize":[200,50]}')
            shell.inside.sendall(b"\x1b[38;2;1;2;3mcolour")
            assert await ws.recv() == b"\x1b[38;2;1;2;3mcolour"

    async def again() -> Any:
        async with client(relay, ticket()) as ws:
            screen = await ws.recv()
            shell = host.containers.shells[0]
            await ws.send('{"flow":false}')
            await asyncio.sleep(0.05)
            await asyncio.to_thread(shell.inside.sendall, b"x" * 1000)
            await ws.send('{"flow":true}')
            assert await ws.recv() == b"x" * 1000
            shell.inside.close()
            return screen, await ws.recv(), await close_of(ws)

    asyncio.run(asyncio.wait_for(first(), 20))
    wait_until(lambda: host.streams.sessions(host.instance) == 0)
    host.containers.shells[0].inside.sendall(b"meanwhile")
    screen, last, closed = asyncio.run(asyncio.wait_for(again(), 20))
    assert screen.startswith(b"$ \x1b[38;2;1;2;3mcolour")
    assert screen.endswith(b"meanwhile")
    assert json.loads(last) == {"exit": 7}
    assert closed[0] == 1000
    assert len(host.containers.shells) == 1
    assert host.containers.shells[0].sizes == [(120, 40), (200, 50), (120, 39), (120, 40)]


def test_a_slow_reader_slows_the_writer_and_loses_nothing(relay: Relay, host: StreamHost) -> None:
    sent, pieces = 0, 128  # several times what the buffers on the way hold together
    blob = os.urandom(MEGABYTE)

    def pour(wire: socket.socket) -> None:
        nonlocal sent
        for _ in range(pieces):
            wire.sendall(blob)
            sent += len(blob)

    async def read() -> str:
        digest = hashlib.sha256()
        async with client(relay, host.ticket(host.grant("port", port=80)), max_queue=2) as ws:
            held_back = -1
            while held_back != sent:
                held_back = sent
                await asyncio.sleep(0.5)
            while isinstance(piece := await ws.recv(), bytes):
                digest.update(piece)
        assert held_back < pieces * MEGABYTE, "the writer waits for the reader"
        return digest.hexdigest()

    with Service(pour) as service:
        host.containers.ports[80] = service.port
        assert asyncio.run(asyncio.wait_for(read(), 60)) == hashlib.sha256(blob * pieces).hexdigest()


def test_tunnels_open_their_own_ports_alone(start_relay_with_ports: Callable[[], Relay]) -> None:
    relay = start_relay_with_ports()
    mine, barred, stolen = free_port(), free_port(), free_port()
    host = StreamHost(relay.url, SECRET)
    try:
        with Service(echo) as service:
            host.containers.ports[22] = service.port
            elsewhere = host.tunnel(barred, 22, allow=["192.0.2.0/24"])
            host.follow(host.tunnel(mine, 22), elsewhere, host.tunnel(stolen, 22, host="0" * 32))
            wait_until(lambda: len(relay.server.config.app.state.tcp_listeners) == 2)  # type: ignore[union-attr]  # a Starlette
            assert _ask(mine) == b"hellobye"
            with pytest.raises((ConnectionError, OSError), match=r"reset|not connected|Broken pipe"):
                _ask(barred)  # closed at once: how soon it shows depends on which call comes next
            with pytest.raises(ConnectionRefusedError):
                _ask(stolen)
            host.follow(host.tunnel(mine, 22, allow=["127.0.0.0/8"]), run="running")
            wait_until(lambda: len(relay.server.config.app.state.tcp_listeners) == 1)  # type: ignore[union-attr]  # a Starlette
            assert _ask(mine) == b"hellobye"
    finally:
        host.streams.stop()


def _ask(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as wire:
        wire.sendall(b"hello")
        wire.shutdown(socket.SHUT_WR)
        received = b""
        while piece := wire.recv(4096):
            received += piece
        return received


def test_a_lost_link_comes_back_and_open_streams_live_on(relay: Relay, host: StreamHost) -> None:
    async def talk() -> None:
        async with client(relay, host.ticket(host.grant("port", port=80))) as ws:
            await ws.send(b"one")
            assert await ws.recv() == b"one"
            await asyncio.to_thread(on_relay, relay, hub(relay).close())
            await ws.send(b"two")
            assert await ws.recv() == b"two"
        async with client(relay, host.ticket(host.grant("port", port=80))) as ws:
            await ws.send(b"three")
            assert await ws.recv() == b"three"

    with Service(echo) as service:
        host.containers.ports[80] = service.port
        asyncio.run(asyncio.wait_for(talk(), 30))


def test_a_link_ends_with_its_ticket_that_each_exchange_renews(relay: Relay, new_host: Callable[[], StreamHost]) -> None:
    brief = new_host()
    brief.follow(lifetime_s=3)
    wait_until(lambda: hub(relay).is_linked(brief.id))
    begun = time.monotonic()
    brief.follow(lifetime_s=600)
    while time.monotonic() - begun < 3.5:
        assert hub(relay).is_linked(brief.id)
        time.sleep(0.1)
    gone = new_host()
    gone.follow(lifetime_s=2)
    wait_until(lambda: hub(relay).is_linked(gone.id))
    wait_until(lambda: not hub(relay).is_linked(gone.id))


def test_a_pair_meets_and_meets_again_after_a_cut(relay: Relay, new_host: Callable[[], StreamHost]) -> None:
    one, other = new_host(), new_host()
    for host in (one, other):
        host.follow()
    pair = "ab" * 16
    lines: dict[str, PeerConnection] = {}

    def come(host: StreamHost, side: str) -> None:
        lines[side] = host.streams.open_peer(pair, host.sign(f"pair:{pair}:{side}"))

    for turn in range(2):
        comers = [
            threading.Thread(target=come, args=pairing) for pairing in ((one, "source"), (other, "target"))[:: 1 - 2 * turn]
        ]
        for comer in comers:
            comer.start()
        for comer in comers:
            comer.join(20)
        blob = os.urandom(MEGABYTE)
        lines["source"].send(blob)
        lines["source"].send(b"second")
        assert [lines["target"].recv(), lines["target"].recv()] == [blob, b"second"], "messages keep their bounds"
        lines["target"].send(b"thanks")
        assert lines["source"].recv() == b"thanks"
        lines["source"].close()
        assert lines["target"].recv() == b"", "the other side has closed"
    with pytest.raises(PeerConnectionLost):
        one.streams.open_peer(pair, one.sign("pair:0:source"))
