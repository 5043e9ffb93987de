"""Places for streams: what one instance, or strangers at its ports, may take of them, and what stays for others."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from agents.daemon.streams import stream_limits
from agents.daemon.streams.stream_limits import AT_ONCE, FROM_PORTS, OF_INSTANCE, Door, OpenStreams, TooManyStreams

from .conftest import SECRET, Relay, free_port, wait_until
from .streaming import Service, StreamHost, echo
from .test_streams import client, close_of


@pytest.fixture
def places() -> Iterator[Callable[..., int]]:
    """Takes as many places of an instance as there are, and holds them; how many it got."""
    streams, held = OpenStreams(), ExitStack()

    def take(instance: str, door: Door | None) -> int:
        for count in range(AT_ONCE + 1):
            try:
                held.enter_context(streams.place(instance, door))
            except TooManyStreams:
                return count
        raise AssertionError("there is no end of places")

    with held:
        yield take
    assert [streams.of_instance(instance) for instance in "abcdefgh"] == [0] * 8, "every place is given back"


def test_one_instance_leaves_places_for_the_others(places: Callable[..., int]) -> None:
    assert places("a", None) == OF_INSTANCE
    assert places("b", None) == OF_INSTANCE


def test_strangers_leave_places_for_those_who_are_known(places: Callable[..., int]) -> None:
    at_port, at_ssh = places("a", "port"), places("a", "ssh")
    assert at_ssh > 0, "who fills another port shuts nobody out of SSH"
    assert places("a", None) == OF_INSTANCE - at_port - at_ssh > 0
    at_all = at_port + at_ssh + sum(places(instance, "port") for instance in "bcdefgh")
    assert at_all == FROM_PORTS < AT_ONCE
    assert places("h", None) > 0


def test_who_comes_too_late_is_told(start_relay: Callable[..., Relay], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_limits, "OF_INSTANCE", 2)
    monkeypatch.setitem(stream_limits.FROM_PORTS_OF_INSTANCE, "ssh", 1)
    relay, port = start_relay(tcp_ports=range(1024, 65536)), free_port()
    host = StreamHost(relay.url, SECRET)

    async def refusal() -> tuple[int | None, str]:
        async with client(relay, host.ticket(host.grant("port", port=80))) as ws:
            await ws.send(b"known")
            assert await ws.recv() == b"known"
            async with client(relay, host.ticket(host.grant("port", port=80))) as another:
                return await close_of(another)

    try:
        with Service(echo) as service:
            host.containers.ports |= {22: service.port, 80: service.port}
            host.follow(host.tunnel(port, 22))
            wait_until(lambda: len(relay.server.config.app.state.tcp_listeners) == 1)  # type: ignore[union-attr]  # a Starlette
            with _visit(port) as first:
                assert first.recv(100) == b"stranger"
                with socket.create_connection(("127.0.0.1", port), timeout=10) as second:
                    assert second.recv(100) == b"", "a second stranger has no place"
                assert asyncio.run(asyncio.wait_for(refusal(), 30)) == (4409, "too_many_streams")
            wait_until(lambda: host.streams.sessions(host.instance) == 0)
            with _visit(port) as third:
                assert third.recv(100) == b"stranger"
    finally:
        host.streams.stop()


def _visit(port: int) -> socket.socket:
    wire = socket.create_connection(("127.0.0.1", port), timeout=10)
    wire.sendall(b"stranger")
    return wire
