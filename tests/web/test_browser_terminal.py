"""The terminal in a browser: a shell of the pretended host at the other end of a real relay."""

import pytest
from playwright.sync_api import Page, expect

from common.ids import public_id
from instances.models import Instance
from tests.agents.relay.streaming import Shell, StreamHost
from tests.web.conftest import Site
from tests.web.world import World, report

pytestmark = pytest.mark.browser


def screen(page: Page) -> str:
    return page.locator(".xterm-rows").inner_text().replace("\xa0", " ")


def shell_of(host: StreamHost, number: int, page: Page) -> Shell:
    expect(page.locator("#term-state")).to_have_text("Connected")
    return host.containers.shells[number]


@pytest.mark.parametrize("width", [390, 1440])
def test_a_shell_is_typed_into_resized_lost_and_found_again(site: Site, host: StreamHost, width: int) -> None:
    page = site.sign_in("alice@example.com", viewport={"width": width, "height": 844})
    page.goto(f"/instances/{public_id('inst', host.instance_id)}/terminal")
    shell = shell_of(host, 0, page)
    page.keyboard.type("ls")
    assert shell.heard(2) == b"ls"
    page.keyboard.insert_text("你好")
    assert shell.heard(6).decode() == "你好"
    shell.inside.sendall("中文 ✓\r\n\x1b[38;2;255;120;0mwarm\x1b[0m\r\n".encode())
    warm = page.locator(".xterm-rows span", has_text="warm")
    expect(warm).to_have_css("color", "rgb(255, 120, 0)")
    assert "中文 ✓" in screen(page)
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0

    before = shell.sizes[-1]
    page.set_viewport_size({"width": width, "height": 600})
    page.wait_for_timeout(300)
    assert shell.sizes[-1][1] < before[1]

    page.reload()
    expect(warm).to_be_visible()
    assert len(host.containers.shells) == 1, "the same shell"
    shell.inside.sendall(b"x" * 3_000_000 + b"\r\nlast words\r\n")
    expect(page.locator(".xterm-rows")).to_contain_text("last words", timeout=20_000)
    shell.inside.close()
    expect(page.locator("#term-note")).to_contain_text("The shell has ended with code 7.")
    page.click("#term-note button")
    second = shell_of(host, 1, page)
    page.click("#term-new")
    assert second.inside.recv(100) == b"", "its line was cut"
    shell_of(host, 2, page)


def test_a_stopped_instance_says_so(site: Site, world: World, running: Instance) -> None:
    report(running, "exited")
    page = site.sign_in("alice@example.com", viewport={"width": 1440, "height": 844})
    page.goto(f"/instances/{public_id('inst', running.pk)}/terminal")
    expect(page.locator("#term-note")).to_contain_text("isn't running")
