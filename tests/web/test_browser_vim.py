"""The terminal in a browser with vim in a real container at its other end: typed into in Chinese, saved, left."""

import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from agents.daemon.docker_engine.errors import convert_engine_errors
from agents.daemon.docker_engine.exec import DockerExec
from agents.daemon.engine.interface import Container
from common.ids import public_id
from instances.models import Instance
from tests.agents.relay.streaming import StreamHost
from tests.docker.conftest import engine, image
from tests.docker.plain_images import PLAIN, plain_images
from tests.web.conftest import Site
from tests.web.shells import host_with_shells

__all__ = ["engine", "image", "plain_images"]
pytestmark = [pytest.mark.browser, pytest.mark.docker]


@pytest.fixture
def container(engine: Any, plain_images: None) -> Iterator[str]:
    made: str = engine.create_container(PLAIN, host_config=engine.create_host_config(network_mode="none", init=True))["Id"]
    try:
        engine.start(made)
        yield made
    finally:
        engine.remove_container(made, force=True)


@pytest.fixture
def host(site: Site, running: Instance, engine: Any, container: str) -> Iterator[StreamHost]:
    """The agent of the instance's host, with the container as the instance's."""

    def own(instance: str) -> list[Container]:
        return [Container(container, instance, 1, "running", "", pid=engine.inspect_container(container)["State"]["Pid"])]

    made = host_with_shells(running, exec_interface=DockerExec(engine, own, convert_engine_errors))
    yield made
    made.streams.stop()


def inside(container: str, *words: str) -> str:
    done = subprocess.run(["docker", "exec", container, *words], capture_output=True, text=True, timeout=30, check=False)
    return done.stdout


def test_vim_writes_what_was_typed_and_gives_the_screen_back(site: Site, host: StreamHost, container: str) -> None:
    page: Page = site.sign_in("alice@example.com", viewport={"width": 1440, "height": 844})
    page.goto(f"/instances/{public_id('inst', host.instance_id)}/terminal")
    rows = page.locator(".xterm-rows")
    expect(page.locator("#term-state")).to_have_text("Connected")
    expect(rows).to_contain_text("# ")
    page.keyboard.type("echo before; vi -u NONE /root/note.txt\n")
    expect(rows).to_contain_text(re.compile(r'note\.txt"\s\[New'))
    expect(rows).not_to_contain_text("before")
    page.keyboard.type("i")
    page.keyboard.insert_text("第一行：你好，世界 ✓")
    page.keyboard.press("Enter")
    page.keyboard.type("second line")
    page.keyboard.press("Escape")
    page.keyboard.type("ggyyP")
    expect(rows.locator("div", has_text="第一行：你好，世界 ✓")).to_have_count(2)
    page.set_viewport_size({"width": 900, "height": 600})
    page.reload()
    expect(rows.locator("div", has_text="第一行：你好，世界 ✓")).to_have_count(2)
    page.keyboard.type(":wq\n")
    expect(rows).to_contain_text("before")
    expect(rows).not_to_contain_text("second line")
    assert inside(container, "cat", "/root/note.txt") == "第一行：你好，世界 ✓\n第一行：你好，世界 ✓\nsecond line\n"
    page.keyboard.type("exit 5\n")
    expect(page.locator("#term-note")).to_contain_text("The shell has ended with code 5.")
