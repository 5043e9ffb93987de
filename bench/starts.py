"""Benchmark from order to running, over the whole stack and real HTTP, simulated and with Docker."""

import json
import os
import socket
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import docker
import httpx
from docker.errors import DockerException
from docker.types import LogConfig

from agents.daemon.docker_engine.container_spec import CAPABILITIES
from bench.frame import NotMeasurableHere, Sample
from common.ids import new_uuid
from tests.stack.harness import Stack
from tests.stack.renting import offer_of, quote, wait_for_state
from tests.waiting import wait_until

SIMULATED_ORDERS = 30
DOCKER_ORDERS = 7
BARE_REQUESTS = 3  # the order, the agent's report, and the wait that announces it
IMAGE = "berth/base:1"
PORTS = (22, 8888, 6006)


@contextmanager
def _stack() -> Iterator[Stack]:
    folder = Path(tempfile.mkdtemp(prefix="berth-bench-"))
    folder.chmod(0o755)  # PostgreSQL runs as a user of its own
    stack = Stack(folder, durable=True)
    try:
        yield stack.start()
    finally:
        stack.stop()


@contextmanager
def simulated_starts() -> Iterator[Callable[[], Sample]]:
    with _stack() as stack:
        stack.enrol("sim", "--runtime", "simulated", "--simulate-gpus", "RTX 4090:4")
        with stack.client("alice") as client:
            offer = offer_of(client, "sim")
            _start_once(client, offer, "berth-base", 0)  # the first one: connections, caches

            def once() -> Sample:
                starts = [_start_once(client, offer, "berth-base", 0) for _ in range(SIMULATED_ORDERS)]
                lean = _PersistentConnection(stack.url, {})  # the server closes connections that idle between two samples
                lean.ask("GET", "/healthz")
                bare = [_timed(lambda: lean.ask("GET", "/healthz")) * BARE_REQUESTS for _ in range(SIMULATED_ORDERS)]
                lean.close()
                notes = {"server p50": statistics.median(server for _, server in starts)}
                return Sample(statistics.median(seen for seen, _ in starts), statistics.median(bare), notes)

            yield once


@contextmanager
def docker_starts() -> Iterator[Callable[[], Sample]]:
    engine = _engine()
    try:
        with _stack() as stack:
            options = ("--simulate-gpus", "RTX 4090:2", "--listen", "127.0.0.1", "--ports", "31000-31099", "--local-images")
            stack.enrol("real", *options)
            with stack.client("alice") as client:
                offer = offer_of(client, "real")
                _start_once(client, offer, "berth-base", 0)

                def once() -> Sample:
                    raw = [_raw_start_isolated(engine) for _ in range(DOCKER_ORDERS)]
                    shared = statistics.median(_raw_start(engine)[0] for _ in range(DOCKER_ORDERS))
                    total = statistics.median(_start_once(client, offer, "berth-base", 0)[0] for _ in range(DOCKER_ORDERS))
                    created, answered = (statistics.median(column) for column in zip(*raw, strict=True))
                    notes = {"order → running": total, "until SSH answers": answered, "floor on the default bridge": shared}
                    return Sample(total - answered, created, notes)

                yield once
    finally:
        engine.close()


def _engine() -> Any:
    if os.geteuid() != 0:
        raise NotMeasurableHere("only root can mount data disks")
    try:
        engine = docker.from_env(version="auto")
        engine.images.get(IMAGE)
    except DockerException as error:
        raise NotMeasurableHere(f"no container engine with the image {IMAGE}: {error}") from error
    return engine


class _PersistentConnection:
    """A persistent HTTP connection without a client library, as httpx takes 0.6 to 0.9 ms per request."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
        self._headers = {"Content-Type": "application/json", **headers}

    def ask(self, method: str, url: str, body: object = None) -> Any:
        address = urlsplit(url)
        content = None if body is None else json.dumps(body).encode()
        self._connection.request(method, f"{address.path}?{address.query}", content, self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise RuntimeError(f"{method} {address.path}: {answer.status} {text.decode()}")
        return json.loads(text)

    def close(self) -> None:
        self._connection.close()


def _start_once(client: httpx.Client, offer: dict[str, Any], image: str, disk_gb: int) -> tuple[float, float]:
    """Order, wait until running, release; return the milliseconds as seen here, and by the server's times."""
    order = {"quote_id": quote(client, offer, data_disk_gb=disk_gb, image=image)["id"], "name": "bench", "ssh_key_ids": []}
    wait_url = client.get("/api/v1/live").raise_for_status().json()["wait_url"]
    web, relay = (
        _PersistentConnection(str(client.base_url), {"Authorization": client.headers["Authorization"]}),
        _PersistentConnection(wait_url, {}),
    )
    version = relay.ask("GET", f"{wait_url}&since=0")["version"]
    web.ask("GET", "/healthz")  # opens both connections
    began = time.perf_counter()
    instance = web.ask("POST", "/api/v1/instances", order)
    address, state = f"/api/v1/instances/{instance['id']}", instance["state"]
    until = f"{wait_url}&instance={instance['id']}&state=running&state=failed"
    while state not in ("running", "failed"):  # see docs/watching.md: changes are counted from before the order
        answer = relay.ask("GET", f"{until}&since={version}")
        version, told = answer["version"], answer.get("changes")
        state = told[-1]["state"] if told else web.ask("GET", address)["state"]
    seen = (time.perf_counter() - began) * 1_000
    web.close()
    relay.close()
    if state == "failed":
        raise RuntimeError(f"{address} failed")
    instance = client.get(address).raise_for_status().json()
    took = datetime.fromisoformat(instance["started_at"]) - datetime.fromisoformat(instance["created_at"])
    client.delete(address).raise_for_status()
    wait_for_state(client, instance, "gone")
    return seen, took.total_seconds() * 1_000


@contextmanager
def _own_network(engine: Any) -> Iterator[str]:
    """Make a bridge network as each instance has; its time is part of the floor."""
    network = engine.networks.create(
        f"berth-bench-{new_uuid().hex}", driver="bridge", options={"com.docker.network.bridge.enable_icc": "false"}
    )
    try:
        yield network.name
    finally:
        network.remove()


def _raw_start_isolated(engine: Any) -> tuple[float, float]:
    """Start a container as `_raw_start` does, but on its own network, as instances have."""
    began = time.perf_counter()
    with _own_network(engine) as network:
        made = (time.perf_counter() - began) * 1_000
        started, answered = _raw_start(engine, network=network)
        return made + started, answered


def _raw_start(engine: Any, *, network: str = "bridge") -> tuple[float, float]:
    """Return the milliseconds of the engine's create and start of a container, then until SSH answers."""
    began = time.perf_counter()
    container = engine.containers.create(
        IMAGE,
        init=True,
        network=network,
        mem_limit="2g",
        nano_cpus=1_000_000_000,
        pids_limit=4096,
        cap_drop=["ALL"],
        cap_add=list(CAPABILITIES),
        security_opt=["no-new-privileges:true"],
        log_config=LogConfig(type="local"),
        ports={f"{port}/tcp": ("127.0.0.1", None) for port in PORTS},
    )
    container.start()
    started = time.perf_counter()
    try:
        container.reload()
        port = int(container.ports["22/tcp"][0]["HostPort"])
        wait_until("SSH", lambda: _banner(port), timeout=30, pause=0.005)
        return (started - began) * 1_000, (time.perf_counter() - started) * 1_000
    finally:
        container.remove(force=True)


def _banner(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1_000
