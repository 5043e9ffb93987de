"""One stage for all journeys: the whole stack, two real engines as two hosts, and a renter's browser."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from agents.daemon.lib.config import load_config
from tests.docker.browser_desk import Desk, Engine
from tests.docker.second_engine import SecondEngine, build_tiny_image
from tests.stack.conftest import open_folder
from tests.stack.harness import Stack
from tests.storage.object_store import ObjectStore
from tests.web.conftest import chromium

__all__ = ["chromium"]

TINY = "berth/tiny:test"
PORTS = ("32000-32249", "32250-32499")  # outside the range from which the kernel takes outgoing ports
SCENE = """
from allauth.account.models import EmailAddress
from accounts.models import User
from storage.models import Image
for user in User.objects.all():
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
Image.objects.filter(slug="tiny").update(has_ssh=False)
Image.objects.filter(slug="desk").update(has_jupyter=True)
"""


@pytest.fixture(scope="package")
def images(image: str, sync_image: str) -> dict[str, str]:
    """What hosts run; `fresh` is `desk` again, with a mark by which it is told from the other."""
    recipe, tag = f"FROM {image}\nRUN echo fresh >/etc/berth-fresh\n", "berth/fresh:test"
    subprocess.run(["docker", "build", "-q", "-t", tag, "-"], input=recipe, text=True, check=True, capture_output=True)
    return {"desk": image, "fresh": tag, "sync": sync_image}


@pytest.fixture(scope="package")
def there() -> Iterator[SecondEngine]:
    with SecondEngine() as engine:
        yield engine


@pytest.fixture(scope="package")
def store() -> Iterator[ObjectStore]:
    with ObjectStore(apart=True) as store:
        yield store


@pytest.fixture(scope="package")
def stack(services: None, engine: Any, there: SecondEngine, store: ObjectStore, images: dict[str, str]) -> Iterator[Stack]:
    """Two hosts, `one` and `two`, on two engines; an image with SSH and one that is small enough to travel; a bucket."""
    build_tiny_image(TINY, there.socket)
    stack = Stack(open_folder(), settings={})
    stack.settings["RELAY_WEB_HOST"] = f"localhost:{stack.relay_port}"
    # The bucket's, and a registry's on this machine.
    stack.settings |= {"OUTBOUND_ALLOWED_NETWORKS": f"{store.network},127.0.0.1/32", "SYNC_IMAGE": images["sync"]}
    try:
        stack.start()
        stack.run_module("tests.stack.seed", "image", "desk", images["desk"])
        stack.run_module("tests.stack.seed", "image", "fresh", images["fresh"])
        stack.run_module("tests.stack.seed", "image", "tiny", TINY)
        stack.manage("shell", "-c", SCENE)
        own = ["--runtime", "docker", "--simulate-gpus"]
        stack.enrol("one", *own, "RTX 4090:4", "--ports", PORTS[0], "--listen", "127.0.0.1")
        stack.settings["DOCKER_HOST"] = there.socket
        at = ["--ports", PORTS[1], "--listen", "127.0.0.1", "--address", there.address]
        stack.enrol("two", *own, "RTX 4090:2", *at, price="2.40")
        del stack.settings["DOCKER_HOST"]
        yield stack
    finally:
        for name in [name for name in stack.processes if name.startswith("agent-")]:
            stack.kill(name)
        clear(engine, stack.folder)
        stack.stop()


def clear(engine: Any, folder: Path) -> None:
    """What a test that failed has left on this machine; one that passed leaves nothing."""
    for state in folder.glob("state-*"):
        mine = {"label": f"berth.host={load_config(state).host_id}"}
        for item in engine.containers(all=True, filters=mine):
            engine.remove_container(item["Id"], force=True, v=True)
        for item in engine.networks(filters=mine):
            engine.remove_network(item["Id"])
        for item in engine.images(filters=mine):
            engine.remove_image(item["Id"], force=True)
        for mount in state.rglob("mounts/*"):
            subprocess.run(["umount", "-l", mount], check=False, capture_output=True)


@pytest.fixture(scope="package")
def here(stack: Stack, engine: Any) -> Engine:
    return Engine(engine, stack.folder / "state-one")


@pytest.fixture(scope="package")
def away(stack: Stack, there: SecondEngine) -> Iterator[Engine]:
    client = there.client()
    yield Engine(client, stack.folder / "state-two")
    client.close()


@pytest.fixture
def desk(stack: Stack, chromium: Browser) -> Iterator[Desk]:
    """When the test has passed, the browser must not have complained."""
    desk = Desk(stack, chromium)
    yield desk
    desk.close()
    assert desk.complaints == []
