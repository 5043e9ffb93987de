"""Files of a real container in a real browser, between them the real relay."""

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import expect

from agents.daemon.docker_engine.errors import convert_engine_errors
from agents.daemon.docker_engine.exec import DockerExec
from agents.daemon.engine.exec_interface import Command
from agents.daemon.engine.interface import Container
from common.ids import public_id
from tests.agents.relay.streaming import FakeContainers, StreamHost
from tests.web.conftest import Site, chromium, site, world
from tests.web.file_journey import cut_after, journey
from tests.web.shells import host_with_shells
from tests.web.world import World, order, report

__all__ = ["chromium", "site", "world"]
pytestmark = pytest.mark.docker

FOLDER = "/srv/数据 here"


class Lodger(FakeContainers):
    """The pretended host of the page's instance leads into a real container."""

    def __init__(self, engine: Any, container: str) -> None:
        super().__init__()
        self.container, self.engine = container, engine
        self.exec_interface = DockerExec(engine, self._containers, convert_engine_errors)

    def _containers(self, instance: str) -> list[Container]:
        return [Container(self.container, instance, 1, "running", "")]

    def command(self, instance: str, words: Sequence[str], env: Mapping[str, str]) -> Command:
        return self.exec_interface.command(instance, words, env)

    def must(self, line: str) -> str:
        """Without the agent's own eyes."""
        made = self.engine.exec_create(self.container, ["sh", "-c", line])
        output: bytes = self.engine.exec_start(made["Id"])
        return output.decode()


@pytest.fixture
def lodger(engine: Any, image: str) -> Iterator[Lodger]:
    limits = engine.create_host_config(network_mode="none", auto_remove=True)
    name = f"berth-files-{uuid.uuid4().hex[:8]}"
    made = engine.create_container(image, ["sleep", "600"], entrypoint=[], name=name, host_config=limits)
    engine.start(made["Id"])
    yield Lodger(engine, made["Id"])
    engine.remove_container(made["Id"], force=True)


@pytest.fixture
def host(site: Site, world: World, lodger: Lodger) -> Iterator[StreamHost]:
    instance = order(world.alice, world.hosts["lab-03"], gpus=1, name="trainer")
    report(instance, "running")
    made = host_with_shells(instance, lodger)
    yield made
    made.streams.stop()


def test_fifty_megabytes_go_in_with_a_cut_and_come_back(
    site: Site, host: StreamHost, lodger: Lodger, tmp_path: Path
) -> None:
    big = tmp_path / "big.bin"
    big.write_bytes(os.urandom(50 * 2**20))
    lodger.must(f"mkdir -p '{FOLDER}'")
    assert httpx.get(f"{site.url}/accounts/login/", timeout=60).is_success  # its first page takes a while on a busy machine
    page = site.sign_in("alice@example.com", viewport={"width": 1440, "height": 844}, accept_downloads=True)
    cut_after(page, 20 * 2**20)
    address = f"/instances/{public_id('inst', host.instance_id)}/files"
    page.goto(f"{address}#{quote(FOLDER)}")
    journey(page, big, tmp_path, lambda: lodger.must(f"sha256sum <'{FOLDER}/big.bin'").split()[0])
    assert lodger.must(f"ls -A '{FOLDER}' | wc -l").strip() == "4", "two lines of one name, the large one, the folder"
    page.goto(f"{address}#/sys")
    expect(page.locator("#files-rows tr").first).to_be_visible()
    page.click("#new-folder")
    page.fill("#folder-name", "here")
    page.click("#folder-dialog [value=yes]")
    expect(page.locator("#folder-dialog [role=alert]")).to_have_text("This disk is read-only.")
