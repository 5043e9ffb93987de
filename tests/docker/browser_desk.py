"""A renter's browser before the whole stack, and the two hosts' engines, asked past their agents."""

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect

from tests.docker.engine_contents import containers_of, paths_with
from tests.stack import renting
from tests.stack.harness import Stack

PASSWORD = "correct-horse-battery"
PATIENCE_MS = 60_000
SHOTS = os.environ.get("BERTH_SHOTS", "")  # a folder: pictures of every step, for people to look at
SIZES = ((1440, 900), (390, 844))
TOO_LATE = "This changed while you were viewing it, so nothing was done."


@contextmanager
def held(stack: Stack, name: str) -> Iterator[None]:
    """The process stands still meanwhile: what a page says of work under way can be read at leisure."""
    process = stack.processes[name]
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


@dataclass
class Engine:
    """One host's: what there is of an instance."""

    client: Any
    state: Path

    def containers(self, instance: str) -> list[dict[str, Any]]:
        return containers_of(self.client, instance)

    def running(self, instance: str) -> dict[str, Any]:
        """The one container that runs; any other number is a fault."""
        [found] = [item for item in self.containers(instance) if item["State"]["Running"]]
        return found

    def runs(self, instance: str) -> bool:
        return any(item["State"]["Running"] for item in self.containers(instance))

    def inside(self, instance: str, *words: str) -> str:
        """What a program says that is run in its container, without an end of line."""
        made = self.client.exec_create(self.running(instance)["Id"], list(words))
        output: bytes = self.client.exec_start(made["Id"])
        code = self.client.exec_inspect(made["Id"])["ExitCode"]
        assert code == 0, (words, code, output)
        return output.decode().strip()

    def gpus(self, instance: str) -> list[str]:
        environment = dict(line.partition("=")[::2] for line in self.running(instance)["Config"]["Env"])
        return [uuid for uuid in environment["NVIDIA_VISIBLE_DEVICES"].split(",") if uuid != "void"]

    def traces(self, instance: str) -> list[str]:
        images = self.client.images(filters={"label": f"berth.instance={instance}"})
        own = (line for line in Path("/proc/mounts").read_text().splitlines() if str(self.state) in line)
        mounts = [line for line in own if instance in line]
        return [*(item["Id"] for item in [*self.containers(instance), *images]), *paths_with(self.state, instance), *mounts]


@dataclass
class Desk:
    """Somebody signed in. What the browser's console complains of is kept."""

    stack: Stack
    browser: Browser
    who: str = "alice"
    complaints: list[str] = field(default_factory=list)
    _contexts: list[BrowserContext] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page = self.sign_in()

    def sign_in(self, *, scripts: bool = True) -> Page:
        """Without scripts a page stays as it was loaded."""
        context = self.browser.new_context(
            base_url=self.stack.url, reduced_motion="reduce", timezone_id="Asia/Shanghai", java_script_enabled=scripts
        )
        context.set_default_timeout(PATIENCE_MS)
        context.on("page", self._listen_to)
        self._contexts.append(context)
        page = context.new_page()
        page.goto("/accounts/login/")
        page.fill("#id_login", f"{self.who}@example.com")
        page.fill("#id_password", PASSWORD)
        page.click("main button[type=submit]")
        page.wait_for_url("**/instances", timeout=20_000)
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()

    def another_tab(self, path: str) -> Page:
        page = self.page.context.new_page()
        page.goto(path)
        return page

    def _listen_to(self, page: Page) -> None:
        page.on("console", self._listen)
        page.on("pageerror", lambda error: self.complaints.append(f"script: {error}"))

    def _listen(self, message: ConsoleMessage) -> None:
        """Of Berth's own pages; a program in an instance may complain as it likes. Every browser notes a refused order."""
        where = str(message.location.get("url", ""))
        refused = message.text.startswith("Failed to load resource") and re.search(r" (409|422) ", message.text)
        if message.type in ("error", "warning") and where.startswith(self.stack.url) and not refused:
            self.complaints.append(f"{message.text} {where}")

    # -- what is to be read

    def says(self, words: str, *, where: str = "main") -> None:
        expect(self.page.locator(where)).to_contain_text(words, timeout=PATIENCE_MS)

    def is_now(self, state: str) -> None:
        """By its badge, without a reload."""
        expect(self.page.locator(".page-head .state")).to_have_text(
            re.compile(f"^{state}$", re.IGNORECASE), timeout=PATIENCE_MS
        )

    def toast(self, words: str) -> None:
        expect(self.page.locator("#toasts")).to_contain_text(words, timeout=PATIENCE_MS)

    def fits(self) -> None:
        over = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert over <= 0, f"{self.page.url}: {over} px too wide"

    # -- what is done

    @property
    def instance(self) -> str:
        """The uuid of the instance whose page is open."""
        found = re.search(r"/instances/inst_([0-9a-f]+)", self.page.url)
        assert found, self.page.url
        return found[1]

    def button(self, verb: str) -> Locator:
        """Of the instance's page: the form that posts to this address, and does not keep the GPUs."""
        return self.page.locator(f"main form[action$='/{verb}']:not(:has([name=hold])) button").first

    def act(self, verb: str, *, sure: bool = True) -> None:
        self.button(verb).click()
        if sure:
            self.confirm()

    def release(self) -> None:
        self.act("release")
        self.is_now("Released")
        self.says("Released: nothing is left on the host")

    def open(self, instance: str) -> None:
        self.page.goto(f"/instances/inst_{instance}")

    def confirm(self) -> None:
        self.look("ask")
        self.page.click("#ask button[value=yes]")

    def look(self, name: str) -> None:
        """Pictures of the page as it is: wide and narrow, light and dark."""
        if not SHOTS:
            return
        stamp = f"{time.monotonic() * 10:.0f}-{name}"
        for width, height in SIZES:
            self.page.set_viewport_size({"width": width, "height": height})
            self.page.wait_for_timeout(400)
            self.fits()
            self.page.screenshot(path=Path(SHOTS) / f"{stamp}-{width}.png")
        self.page.emulate_media(color_scheme="dark")
        self.page.screenshot(path=Path(SHOTS) / f"{stamp}-dark.png")
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size({"width": SIZES[0][0], "height": SIZES[0][1]})


def rent(desk: Desk, host: str, name: str, *, image: str, gpus: int = 1, disk_gb: int = 1) -> str:
    """Through the rent page; the page of the instance is open after it."""
    offer = renting.offer_of(desk.stack.client(desk.who), host)["id"]
    page = desk.page
    page.goto(f"/offers/{offer}/rent?data_disk_gb={disk_gb}&image={image}")
    page.locator(f"input[name=gpu_count][value='{gpus}']").check()
    page.fill("#id_name", name)
    page.locator("#confirm:enabled").click()
    page.wait_for_url("**/instances/inst_*")
    desk.is_now("Running")
    return desk.instance
