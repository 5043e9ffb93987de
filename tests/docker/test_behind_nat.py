"""A whole running Berth with a host that has no inbound port: rent, plain SSH and a terminal, through the relay alone."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect

from tests.stack import renting
from tests.stack.conftest import open_folder
from tests.stack.harness import Stack
from tests.waiting import wait_until

pytestmark = pytest.mark.docker

RELAY_PORTS = "19000-19999"


@pytest.fixture
def stack(services: None, engine: Any, image: str) -> Iterator[Stack]:
    ports = {"RELAY_TCP_PORTS": RELAY_PORTS, "RELAY_TCP_LISTEN": "127.0.0.1", "RELAY_TCP_ADDRESS": "127.0.0.1"}
    stack = Stack(open_folder(), settings=ports)
    try:
        stack.start()
        stack.run_module("tests.stack.seed", "image", "berth-test", image)
        stack.enrol("hidden", "--runtime", "docker", "--simulate-gpus", "T4:1", "--behind-nat")
        yield stack
    finally:
        stack.stop()


def test_rent_ssh_and_terminal_without_an_inbound_port(stack: Stack, engine: Any, ssh_key: Path) -> None:
    alice = stack.client("alice")
    key = ssh_key.with_suffix(".pub").read_text().strip()
    alice.post("/api/v1/ssh-keys", json={"name": "test", "public_key": key}).raise_for_status()
    offer = renting.offer_of(alice, "hidden")
    instance = renting.rent(alice, offer, image="berth-test", data_disk_gb=1)
    instance = renting.wait_for_state(alice, instance, "running")
    way = instance["access"]["ssh"]
    assert 19_000 <= way["port"] <= 19_999

    def ssh(command: str) -> str:
        quiet = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]
        where = ["-p", str(way["port"]), f"{way['user']}@{way['host']}"]
        line = ["ssh", *quiet, "-o", "BatchMode=yes", "-i", str(ssh_key), *where, command]
        done = subprocess.run(line, capture_output=True, text=True, timeout=40, check=False)
        return done.stdout.strip() if done.returncode == 0 else done.stderr

    wait_until("SSH through the relay", lambda: ssh("echo hello") == "hello")
    assert asyncio.run(_typed(alice, instance, "echo $((6*7))")) == "42"
    ssh("echo kept > /root/kept")
    (container,) = engine.containers(filters={"label": f"berth.instance={instance['id'].removeprefix('inst_')}"})
    assert not any(port.get("PublicPort") for port in container["Ports"]), "the host publishes nothing"

    stack.kill("relay")
    stack.restart("relay")
    wait_until("SSH after the relay came back", lambda: ssh("cat /root/kept") == "kept")
    renting.act(alice, instance, "stop")
    renting.wait_for_state(alice, instance, "stopped")
    refused = alice.post(f"/api/v1/instances/{instance['id']}/streams", json={"kind": "terminal"})
    assert (refused.status_code, refused.json()["code"]) == (409, "not_running")
    renting.act(alice, instance, "start")
    again = renting.wait_for_state(alice, instance, "running")
    assert again["access"]["ssh"]["port"] == way["port"], "the port is the instance's for life"
    wait_until("SSH after the start", lambda: ssh("cat /root/kept") == "kept")
    alice.delete(f"/api/v1/instances/{instance['id']}").raise_for_status()
    renting.wait_for_state(alice, instance, "gone")
    stack.manage("verify_ledger")


async def _typed(client: httpx.Client, instance: dict[str, Any], line: str) -> str:
    """The last line that the terminal shows before the shell has ended."""
    reply = client.post(f"/api/v1/instances/{instance['id']}/streams", json={"kind": "terminal"})
    assert reply.status_code == httpx.codes.CREATED, reply.text
    seen = b""
    async with connect(reply.json()["url"], compression=None) as ws:
        await ws.send(f"{line}; exit\r".encode())
        while isinstance(frame := await asyncio.wait_for(ws.recv(), 20), bytes):
            seen += frame
    assert json.loads(frame) == {"exit": 0}
    return next(row for row in reversed(seen.decode().splitlines()) if row.strip() not in ("", "exit", "logout"))
