"""A market with a container host and two simulated ones, and SkyPilot: as it is published, and changed by `install.py`."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from clients.skypilot.tests.server import ENVIRONMENT, INSTALL, ROOT, SkyPilot
from tests.docker.conftest import engine, image
from tests.stack import renting
from tests.stack.conftest import open_folder
from tests.stack.harness import Stack
from tests.stack.test_self_test import run_self_test

__all__ = ["engine", "image", "market", "patched", "published", "token"]

SCOPES = ["instances:read", "instances:write", "instances:connect", "keys:read", "keys:write"]


@pytest.fixture(scope="session")
def published() -> SkyPilot:
    program = ENVIRONMENT / "bin" / "python"
    assert program.exists(), f"{ENVIRONMENT} isn't there: run `make test-skypilot`"
    return SkyPilot(program)


@pytest.fixture(scope="session")
def patched(published: SkyPilot, tmp_path_factory: pytest.TempPathFactory) -> SkyPilot:
    """A copy in front of the published one: both are tested."""
    overlay = tmp_path_factory.mktemp("site")
    (site,) = ENVIRONMENT.glob("lib/python3*/site-packages/sky")
    shutil.copytree(site, overlay / "sky", ignore=shutil.ignore_patterns("dashboard", "__pycache__"))
    for _ in range(2):
        env = {**os.environ, "PYTHONPATH": str(overlay)}
        subprocess.run([published.python, INSTALL], env=env, check=True, stdout=sys.stderr)
    return SkyPilot(published.python, overlay)


@pytest.fixture(scope="session")
def market(services: None, engine: Any, image: str) -> Iterator[Stack]:
    stack = Stack(open_folder())
    try:
        stack.start()
        stack.run_module("tests.stack.seed", "image", "berth-test", image)
        stack.run_module("tests.stack.seed", "image", "nowhere", "127.0.0.1:9/nowhere:1")
        _enrol_large(stack)
        for name in ("sim-a", "sim-b"):
            ports = ("--ports", "42000-42499" if name == "sim-a" else "42500-42999")
            stack.enrol(name, "--runtime", "simulated", "--simulate-gpus", "RTX 4090:2", *ports, region="cn-hangzhou")
        with stack.client("alice") as alice, stack.client("hana") as hana:
            for name in ("large", "sim-a", "sim-b"):
                renting.offer_of(alice, name)
                test, _host = run_self_test(hana, name)
                assert test["verdict"] == "passed", test["checks"]
            _take_bids(hana, "large", "0.50")
        yield stack
        with stack.client("bob") as bob:  # what a test that failed has left
            for instance in bob.get("/api/v1/instances").json()["results"]:
                renting.release(bob, instance)
    finally:
        stack.stop()


@pytest.fixture(scope="session")
def token(market: Stack) -> str:
    """The scopes that the README asks for, and no others."""
    with market.client("bob") as bob:
        reply = bob.post("/api/v1/tokens", json={"name": "skypilot", "scopes": SCOPES})
    assert reply.status_code == httpx.codes.CREATED, reply.text
    return str(reply.json()["token"])


def _enrol_large(stack: Stack) -> None:
    listen = ("--ports", "28000-28999", "--listen", "127.0.0.1")
    words = ("--runtime", "docker", "--simulate-gpus", "RTX 4090:16", *listen)
    stack.enrol("large", *words, region="cn-hangzhou", price="1.00")
    stack.kill("agent-large")
    program = str(Path(__file__).parent / "large_agent.py")
    state = str(stack.folder / "state-large")
    stack.own_settings["agent-large"] = {"PYTHONPATH": str(ROOT)}
    stack.launch("agent-large", [sys.executable, program, "run", "--state-dir", state])


def _take_bids(hana: httpx.Client, name: str, floor: str) -> None:
    host = next(host for host in hana.get("/api/v1/hosts").json()["results"] if host["name"] == name)
    path = f"/api/v1/hosts/{host['id']}"
    offers = hana.get(path).raise_for_status().json()["offers"]
    body = {"offers": [{"id": offer["id"], "spot_floor": floor} for offer in offers]}
    hana.patch(f"{path}/listing", json=body).raise_for_status()
