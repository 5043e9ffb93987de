"""Files of an instance in a browser: a real relay, the agent's scripts, a folder of this machine in place of a container."""

import os
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from common.ids import public_id
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from tests.agents.relay.streaming import StreamHost
from tests.web.conftest import Site
from tests.web.file_journey import cut_after, journey, sum_of
from tests.web.world import report

pytestmark = pytest.mark.browser


def test_a_day_with_files_on_a_phone(site: Site, host: StreamHost, tmp_path: Path) -> None:
    inside, own = tmp_path / "in side", tmp_path / "own"
    inside.mkdir()
    own.mkdir()
    (own / "big.bin").write_bytes(os.urandom(10 * 2**20))
    page = site.sign_in("alice@example.com", viewport={"width": 390, "height": 844}, accept_downloads=True)
    cut_after(page, 2 * 2**20)
    address = f"/instances/{public_id('inst', host.instance_id)}/files"
    page.goto(f"{address}#{quote(str(inside))}")
    journey(page, own / "big.bin", own, lambda: sum_of(inside / "big.bin"))
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert sorted(path.name for path in inside.iterdir()) == ["big.bin", "two\nlines", "新 folder"]

    page.goto(f"{address}#/no/such")
    expect(page.locator("#files-note")).to_contain_text("It no longer exists.")


def test_what_does_not_run_says_how_to_reach_its_files(site: Site, host: StreamHost, running: Instance) -> None:
    page = site.sign_in("alice@example.com", viewport={"width": 1440, "height": 844})
    page.goto(f"/instances/{public_id('inst', running.pk)}/files")
    expect(page.locator("#files")).to_be_visible()
    expect(page.locator("#files-count")).not_to_be_empty()  # it has asked for its line: after the stop that is refused
    stop_instance(renter=running.renter, instance_id=running.pk)
    report(running, "stopped")
    expect(page.locator("#files-state")).to_contain_text("Start without GPU to access your files")
    expect(page.locator("#files")).to_be_hidden()
    page.click("#files-state form button")
    page.click("#ask [value=yes]")
    expect(page.locator("#files-state")).to_contain_text("Files appear here once the instance is running.")
    report(running, "running")
    expect(page.locator("#files")).to_be_visible()
