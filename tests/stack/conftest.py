"""One stack for the tests that leave it as they found it; tests that break things make their own."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stack.harness import Stack
from tests.waiting import wait_until


@pytest.fixture(scope="session")
def stack(services: None) -> Iterator[Stack]:
    stack = Stack(open_folder(), workers=4).start()
    try:
        stack.enrol("sim", "--runtime", "simulated", "--simulate-gpus", "RTX 4090:2", "--ports", "40000-40999")
        wait_until("offer", lambda: stack.client("alice").get("/api/v1/offers").json()["results"])
        yield stack
    finally:
        stack.stop()


@pytest.fixture
def own_stack(services: None) -> Iterator[Stack]:
    stack = Stack(open_folder())
    try:
        yield stack.start()
    finally:
        stack.stop()


def open_folder() -> Path:
    """PostgreSQL runs as a user of its own and must be able to reach its folder, which pytest would keep private."""
    folder = Path(tempfile.mkdtemp(prefix="berth-stack-"))
    folder.chmod(0o755)
    return folder
