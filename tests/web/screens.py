"""Pictures of every page: `python -m tests.web.screens OUTDIR [name …]`, on its own database with seeded contents."""

import sys
import threading
import time
from pathlib import Path
from typing import Literal

from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.test.testcases import LiveServerThread
from django.test.utils import setup_databases, setup_test_environment
from playwright.sync_api import Browser, Page, sync_playwright

from tests.web.serving import CHROMIUM, CHROMIUM_FLAGS, free_port, relay
from tests.web.standalone import RELAY_PORT

# isort: split
# What follows needs Django, which standalone makes ready.
from tests.web.page_list import every_page
from tests.web.shells import host_with_shells
from tests.web.world import PASSWORD, World, build_world, keep_alive, report
from tests.web.world_crowd import crowd

SIZES = {"390": (390, 844), "1440": (1440, 900)}
LANGUAGES = ("en", "zh-hans")
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def plain(_handler: object) -> WSGIHandler:
    """WhiteNoise serves the static files, as in production."""
    return WSGIHandler()


# The same market with two thousand offers more; pictures of it are taken last.
CROWDED = {
    "crowd-home": ("", "/"),
    "crowd-market": ("", "/market"),
    "crowd-filtered": ("", "/market?gpu_model=a100&gpu_model=h100-sxm&gpu_count=2&reliability_min=0.95&sort=-value"),
    "crowd-empty": ("", "/market?gpu_model=h200&price_max=0.10&verified=true&disk_read_min=6000&cuda_min=12.8"),
}


def beat(world: World) -> None:
    """The hosts' agents: without their reports every host would be silent after a minute."""
    while True:
        keep_alive(world.hosts)
        report(world.instances["running"], "running")
        time.sleep(15)


def sign_in(page: Page, base: str, email: str) -> None:
    page.goto(f"{base}/accounts/login/")
    page.fill("#id_login", email)
    page.fill("#id_password", PASSWORD)
    page.click("main button[type=submit]")
    page.wait_for_url(f"{base}/instances")


def shoot(browser: Browser, base: str, out: Path, wanted: dict[str, tuple[str, str]]) -> None:
    for language in LANGUAGES:
        for theme in THEMES:
            for who in ("", "alice", "hana", "stella", "owen"):
                context = browser.new_context(color_scheme=theme, reduced_motion="reduce")
                context.add_cookies([{"name": settings.LANGUAGE_COOKIE_NAME, "value": language, "url": base}])
                page = context.new_page()
                page.on("console", lambda message: print("console:", message.type, message.text[:300]))
                page.on("pageerror", lambda error: print("error:", error))
                if who and any(asker == who for asker, _path in wanted.values()):
                    sign_in(page, base, f"{who}@example.com")
                for name, (asker, path) in wanted.items():
                    if asker == who:
                        take(page, base + path, out, f"{name}-{{}}-{theme}-{language}")
                context.close()


def take(page: Page, url: str, out: Path, name: str) -> None:
    for label, (width, height) in SIZES.items():
        page.set_viewport_size({"width": width, "height": height})
        page.goto(url, wait_until="load")
        if "/reauthenticate/" in page.url:
            page.fill("#id_password", PASSWORD)
            page.click("main button[type=submit]")
        page.wait_for_timeout(700)
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if over > 0:
            print(f"{name.format(label)}: {over} px too wide")
        page.screenshot(path=out / f"{name.format(label)}.png", full_page=True)


def main(arguments: list[str]) -> int:
    out, names = Path(arguments[0]), arguments[1:]
    out.mkdir(parents=True, exist_ok=True)
    setup_test_environment()
    setup_databases(verbosity=0, interactive=False)  # goes with the temporary PostgreSQL when this program ends
    world = build_world()
    shown = every_page(world)
    wanted = {name: page for name, page in shown.items() if not names or name in names}
    crowded = {name: page for name, page in CROWDED.items() if not names or name in names}
    threading.Thread(target=beat, args=(world,), daemon=True).start()
    port = free_port()
    server = LiveServerThread("127.0.0.1", plain, port=port)  # type: ignore[arg-type]  # the stubs want a class
    server.daemon = True
    server.start()
    server.is_ready.wait()
    base = f"http://127.0.0.1:{port}"
    with relay(port=RELAY_PORT, secret=settings.RELAY_SECRET, origin=base), sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=CHROMIUM_FLAGS)
        host = host_with_shells(world.instances["running"])
        shoot(browser, base, out, wanted)
        host.streams.stop()
        if crowded:
            crowd(world.hana, 2_000)
            shoot(browser, base, out, crowded)
        browser.close()
    server.terminate()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
