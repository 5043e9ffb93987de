"""A browser, a market to click in, and the complaints of the browser's console."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from config.middleware.page_headers import site_policy
from instances.models import Instance
from tests.agents.relay.streaming import FakeContainers, StreamHost
from tests.instances.fake_host import base_image
from tests.web.serving import CHROMIUM, CHROMIUM_FLAGS, free_port, relay
from tests.web.shells import host_with_shells
from tests.web.steady_chromium import BROWSER
from tests.web.world import PASSWORD, World, build_world, order, report

# Only a test that fails waits this long: a second worker may take the machine's other core, and half of this one.
PATIENCE_MS = 20_000
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if not BROWSER.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{BROWSER} is missing: `.ci/run` installs it")
        pytest.skip(f"{BROWSER} is not installed")
    with pytest.MonkeyPatch.context() as patch:
        # The browser's driver runs an event loop in this thread; Django would refuse the database to it.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=CHROMIUM_FLAGS)
            yield browser
            browser.close()


@dataclass
class Site:
    """The running site as a browser meets it. `complaints` are errors of the console, of scripts and of the policy."""

    url: str
    browser: Browser
    complaints: list[str] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)

    def open(self, **options: object) -> Page:
        context = self.browser.new_context(base_url=self.url, reduced_motion="reduce", **options)  # type: ignore[arg-type]  # passed on
        context.grant_permissions(["clipboard-read", "clipboard-write"], origin=self.url)
        context.set_default_timeout(PATIENCE_MS)
        self.contexts.append(context)
        page = context.new_page()
        page.on("console", self._listen)
        page.on("pageerror", lambda error: self.complaints.append(f"script: {error}"))
        return page

    def sign_in(self, email: str, **options: object) -> Page:
        page = self.open(**options)
        page.goto("/accounts/login/")
        page.fill("#id_login", email)
        page.fill("#id_password", PASSWORD)
        page.click("main button[type=submit]")
        page.wait_for_url("**/instances")
        return page

    def close(self) -> None:
        for context in self.contexts:
            context.close()

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)


def has_copied(page: Page, text: str) -> None:
    """Waits for it: the clipboard is written to after the click has returned."""
    page.wait_for_function("text => navigator.clipboard.readText().then(read => read === text)", arg=text)


@pytest.fixture
def world(transactional_db: None) -> World:
    base_image()
    return build_world(with_instances=False)


@pytest.fixture
def site(chromium: Browser, live_server: LiveServer, settings: Settings, world: World) -> Iterator[Site]:
    """Site and relay. When the test has passed, the browser must not have complained."""
    port = free_port()
    settings.RELAY_URL = f"http://127.0.0.1:{port}"
    settings.CONTENT_SECURITY_POLICY = site_policy(settings.RELAY_URL)
    site = Site(live_server.url, chromium)
    with relay(port=port, secret=settings.RELAY_SECRET, origin=live_server.url):
        yield site
        site.close()
    assert site.complaints == []


@pytest.fixture
def lonely_site(chromium: Browser, live_server: LiveServer, settings: Settings, world: World) -> Iterator[Site]:
    """The relay is down: the browser complains, rightly."""
    settings.RELAY_URL = f"http://127.0.0.1:{free_port()}"
    settings.CONTENT_SECURITY_POLICY = site_policy(settings.RELAY_URL)
    site = Site(live_server.url, chromium)
    yield site
    site.close()


@pytest.fixture
def running(world: World) -> Instance:
    instance = order(world.alice, world.hosts["lab-03"], gpus=1, name="trainer")
    report(instance, "running")
    return instance


@pytest.fixture
def host(site: Site, running: Instance) -> Iterator[StreamHost]:
    """The agent of the instance's host, as the control plane would have told it."""
    made = host_with_shells(running, FakeContainers())
    yield made
    made.streams.stop()
