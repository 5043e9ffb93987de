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

from common.ids import public_id
from tests.web.serving import CHROMIUM, CHROMIUM_FLAGS, free_port, relay
from tests.web.standalone import RELAY_PORT

# isort: split
# What follows needs Django, which standalone makes ready.
from tests.web.shells import host_with_shells
from tests.web.top_ups import payment_pages
from tests.web.world import PASSWORD, World, build_world, keep_alive, report
from tests.web.world_access import access_pages
from tests.web.world_actions import action_pages
from tests.web.world_buckets import bucket_pages
from tests.web.world_crowd import crowd
from tests.web.world_data import data_pages
from tests.web.world_images import image_pages
from tests.web.world_life import life_pages
from tests.web.world_limits import limit_pages
from tests.web.world_modes import mode_pages
from tests.web.world_moves import move_pages
from tests.web.world_papers import paper_pages
from tests.web.world_payouts import payout_pages
from tests.web.world_proof import proof_pages
from tests.web.world_spot import spot_pages
from tests.web.world_watching import watching_pages

SIZES = {"390": (390, 844), "1440": (1440, 900)}
LANGUAGES = ("en", "zh-hans")
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def plain(_handler: object) -> WSGIHandler:
    """WhiteNoise serves the static files, as in production."""
    return WSGIHandler()


def pages(world: World) -> dict[str, tuple[str, str]]:
    """Name → (who, path)."""
    offer = public_id("offr", world.offer_of("lab-03").pk)
    compared = ",".join(public_id("offr", world.offer_of(name).pk) for name in ("lab-03", "sh-gpu-12", "hpc-a1", "attic"))
    ids = {name: public_id("inst", instance.pk) for name, instance in world.instances.items()}
    return {
        "home": ("", "/"),
        "market": ("", "/market"),
        "market-filtered": ("", "/market?gpu_count=2&region=eu-west&simulated=no"),
        "market-empty": ("", "/market?gpu_count=8&gpu_model=t4"),
        "market-reasons": ("", "/market?gpu_model=t4&vram_gb_min=80&price_max=0.50&region=eu-west"),
        "market-wishes": ("", "/market?gpu_count=2&billing_mode=reserved&term=month&data_disk_gb=500&image=berth-base"),
        "market-wrong": ("", "/market?q=gpu%3Drtx-4090+vrm%3E24+price%3C1"),
        "compare": ("", f"/compare?ids={compared}"),
        "compare-none": ("", "/compare"),
        "offer": ("", f"/offers/{offer}"),
        "reliability": ("", f"/hosts/{public_id('host', world.hosts['lab-03'].pk)}/reliability"),
        "reliability-new": ("", f"/hosts/{public_id('host', world.hosts['sim-us-2'].pk)}/reliability"),
        "calculator": ("", "/calculator"),
        "calculator-offer": ("", f"/calculator?offer={offer}&hours=1000&gpu_count=4&data_disk_gb=500"),
        "calculator-wrong": ("", "/calculator?unit_price=dear&hours=x"),
        "offer-prices": ("hana", f"/offers/{offer}/prices"),
        "rent-large-disk": ("alice", f"/offers/{offer}/rent?gpu_count=2&data_disk_gb=200"),
        "login": ("", "/accounts/login/"),
        "signup": ("", "/accounts/signup/"),
        "docs": ("", "/docs"),
        "guide": ("", "/docs/billing"),
        "reference": ("", "/docs/reference"),
        "gpu-guide": ("", "/guide"),
        "gpu-ranking": ("", "/guide/gpus?sort=value"),
        "gpu-topic": ("", "/guide/links"),
        "gpu-topic-cuda": ("", "/guide/cuda"),
        "advisor": ("", "/advisor?preset=lora-13b"),
        "advisor-rates": ("", "/advisor"),
        "advisor-refused": ("", "/advisor?task=train&family=language&parameters=1T&precision=fp16"),
        "missing": ("", "/nowhere"),
        "rent": ("alice", f"/offers/{offer}/rent?gpu_count=2"),
        "instances": ("alice", "/instances"),
        "watches": ("alice", "/watches"),
        "watches-empty": ("hana", "/watches"),
        "watch-new": ("alice", "/watches/new?q=rtx-4090+count%3D2+price%3C0.50"),
        "instance-running": ("alice", f"/instances/{ids['running']}"),
        "terminal": ("alice", f"/instances/{ids['running']}/terminal"),
        "terminal-stopped": ("alice", f"/instances/{ids['stopped']}/terminal"),
        "instance-moving": ("alice", f"/instances/{ids['moving']}"),
        "instance-failed": ("alice", f"/instances/{ids['failed']}"),
        "instance-stopped": ("alice", f"/instances/{ids['stopped']}"),
        "wallet": ("alice", "/wallet"),
        "statement": ("alice", "/wallet/statement"),
        "profile": ("alice", "/settings/profile"),
        "security": ("alice", "/settings/security"),
        "ssh-keys": ("alice", "/settings/ssh-keys"),
        "tokens": ("alice", "/settings/tokens"),
        "account-log": ("alice", "/settings/log"),
        "password-change": ("alice", "/accounts/password/change/"),
        "totp": ("alice", "/accounts/2fa/totp/activate/"),
        "password": ("alice", "/accounts/password/change/"),
        "email": ("alice", "/accounts/email/"),
        "become-host": ("alice", "/hosts"),
        "hosts": ("hana", "/hosts"),
        "maintenance": ("hana", f"/hosts/{public_id('host', world.hosts['lab-03'].pk)}/maintenance"),
        "panel": ("hana", "/host-panel/"),
        "panel-hosts": ("hana", "/host-panel/marketplace/host/"),
        "panel-host": ("hana", f"/host-panel/marketplace/host/{world.offer_of('lab-03').host_id}/change/"),
        "panel-price": ("hana", f"/host-panel/marketplace/offer/{world.offer_of('lab-03').pk}/change/"),
        "panel-enrol": ("hana", "/host-panel/marketplace/jointoken/add/"),
        "staff": ("stella", "/admin/"),
        "staff-wallets": ("stella", "/admin/billing/wallet/"),
    }


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
    shown = pages(world) | payment_pages(world) | paper_pages(world) | mode_pages(world) | limit_pages(world)
    shown |= action_pages(world) | spot_pages(world) | payout_pages(world) | proof_pages(world) | access_pages(world)
    shown |= move_pages(world) | life_pages(world) | watching_pages(world)
    shown |= image_pages(world) | data_pages(world) | bucket_pages(world)
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
