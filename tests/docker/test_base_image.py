"""What the official image does by itself, without an agent."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.waiting import wait_until

pytestmark = pytest.mark.docker
KEY = "/etc/ssh/ssh_host_ed25519_key.pub"


@contextmanager
def _running(engine: Any, image: str, instance: str) -> Iterator[str]:
    container = engine.create_container(image, environment={"BERTH_INSTANCE": instance})["Id"]
    try:
        engine.start(container)
        yield container
    finally:
        engine.remove_container(container, force=True)


def _host_key(engine: Any, container: str) -> str:
    """As sshd has it: it writes its pid when it has read its keys."""
    script = f"test -s /run/sshd.pid && cat {KEY}"

    def read() -> str:
        order = engine.exec_create(container, ["sh", "-c", script])["Id"]
        output = engine.exec_start(order).decode()
        return output if engine.exec_inspect(order)["ExitCode"] == 0 else ""

    return str(wait_until("a host key", read))


def test_a_saved_image_does_not_prove_itself_with_the_host_keys_of_its_source(engine: Any, image: str) -> None:
    with _running(engine, image, "a" * 32) as source:
        key = _host_key(engine, source)
        engine.restart(source, timeout=1)
        assert _host_key(engine, source) == key
        saved = engine.commit(source)["Id"]
    try:
        with _running(engine, saved, "a" * 32) as moved:
            assert _host_key(engine, moved) == key
        with _running(engine, saved, "b" * 32) as clone:
            assert _host_key(engine, clone) != key
    finally:
        engine.remove_image(saved, force=True)
