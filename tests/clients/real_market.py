"""A whole market with a host that runs real containers, as a fixture for modules that ask for it."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.docker.conftest import engine, image, ssh_key
from tests.stack import renting
from tests.stack.conftest import open_folder
from tests.stack.harness import Stack

__all__ = ["engine", "image", "real_market", "ssh_key"]


@pytest.fixture(scope="module")
def real_market(services: None, engine: Any, image: str) -> Iterator[Stack]:
    stack = Stack(open_folder())
    stack.settings["RELAY_WEB_HOST"] = f"localhost:{stack.relay_port}"
    stack.settings["OUTBOUND_ALLOWED_NETWORKS"] = "127.0.0.0/8"  # registries of tests
    try:
        stack.start()
        stack.run_module("tests.stack.seed", "image", "berth-test", image)
        listen = ("--ports", "28000-28999", "--listen", "127.0.0.1")
        stack.enrol("real", "--runtime", "docker", "--simulate-gpus", "RTX 4090:2", *listen)
        with stack.client("alice") as client:
            renting.offer_of(client, "real")
        yield stack
    finally:
        stack.stop()
