"""A whole market with a simulated host, and terminals whose owners use it."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.clients.plans import Declare
from tests.clients.terminal import Terminal
from tests.stack.conftest import open_folder
from tests.stack.harness import Stack
from tests.waiting import wait_until


@pytest.fixture(scope="session")
def market(services: None) -> Iterator[Stack]:
    stack = Stack(open_folder(), workers=2).start()
    try:
        stack.enrol("sim", "--runtime", "simulated", "--simulate-gpus", "RTX 4090:4", "--ports", "41000-41999")
        wait_until("offer", lambda: stack.client("alice").get("/api/v1/offers").json()["results"])
        yield stack
    finally:
        stack.stop()


@pytest.fixture
def alice(market: Stack, tmp_path: Path) -> Terminal:
    return Terminal(tmp_path, market.url, market.people["alice"]["token"])


@pytest.fixture
def signed_out(tmp_path: Path) -> Terminal:
    """Someone who knows of no market."""
    return Terminal(tmp_path)


@pytest.fixture(scope="session")
def newcomers(market: Stack) -> Iterator[str]:
    """Tokens of people whom nobody knows yet, ten at a time: each batch starts Django once."""
    return (
        person["token"]
        for batch in count()
        for person in market.run_module("tests.stack.seed", "renters", f"newcomer-{batch}", "10", "500")
    )


@pytest.fixture
def carol(market: Stack, newcomers: Iterator[str], tmp_path: Path) -> Iterator[Terminal]:
    """Someone new, whose names are nobody else's; nothing of hers outlives a test."""
    terminal = Terminal(tmp_path, market.url, next(newcomers))
    terminal.settings = {"HF_TOKEN": "s3cret-value"}
    yield terminal
    for instance in terminal.json("ls"):
        terminal.must("rm", instance["id"], "--yes", "--wait")
    for volume in terminal.json("volume", "ls"):
        terminal.run("volume", "rm", volume["name"], "--yes")


@pytest.fixture
def declare(carol: Terminal) -> Declare:
    """Write documents to a file; each is (kind, name, spec)."""

    def write(*documents: tuple[str, str, dict[str, Any]]) -> str:
        path = carol.home / "berth.json"
        path.write_text(json.dumps([{"kind": kind, "name": name, "spec": spec} for kind, name, spec in documents]))
        return str(path)

    return write
