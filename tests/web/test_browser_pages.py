"""Every page in a browser: fits a phone, is labelled, and leaves the console silent, in both languages."""

import pytest
from playwright.sync_api import Page

from common.ids import public_id
from tests.web.conftest import Site
from tests.web.world import World, order, report

pytestmark = pytest.mark.browser

PUBLIC = (
    *(
        "/",
        "/market",
        "/market?gpu_count=8&gpu_model=t4",
        "/market?q=mode%3Dreserved+data_disk%3D500+fp16%3E100+nvlink",
        "/compare",
        "/accounts/login/",
        "/accounts/signup/",
        "/accounts/password/reset/",
    ),
    *("/docs", "/docs/first-rent", "/docs/api", "/docs/reference"),
)
PERSONAL = (
    *("/watches", "/watches/new?q=rtx-4090+price%3C1"),
    *("/instances", "/instances?gone=1", "/wallet", "/wallet/statement", "/hosts", "/hosts/earnings"),
    *("/settings/profile", "/settings/security", "/settings/ssh-keys", "/settings/tokens"),
    *("/settings/notifications", "/settings/webhooks"),
    *("/accounts/email/", "/accounts/password/change/"),
)
_UNLABELLED = """() => [...document.querySelectorAll("input:not([type=hidden]), select, textarea")]
  .filter((field) => !field.labels?.length && !field.getAttribute("aria-label") && !field.closest("template"))
  .map((field) => field.outerHTML)"""
_NAMELESS = """() => [...document.querySelectorAll("button, a[href]")]
  .filter((each) => each.checkVisibility() && !each.innerText.trim() && !each.getAttribute("aria-label"))
  .map((each) => each.outerHTML)"""
_WHAT_STICKS_OUT = """() => [...document.querySelectorAll("body *")]
  .filter((each) => each.getBoundingClientRect().right > document.documentElement.clientWidth && !each.closest(".menu"))
  .slice(0, 5).map((each) => each.outerHTML.slice(0, 120))"""
_TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_SAME_IDS = """() => { const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  return ids.filter((id, at) => ids.indexOf(id) !== at) }"""


def _check(page: Page, path: str) -> None:
    page.goto(path)
    page.wait_for_load_state("networkidle") if "sse-connect" not in page.content() else page.wait_for_timeout(250)
    assert page.evaluate(_TOO_WIDE) <= 0, f"{path} is wider than the screen: {page.evaluate(_WHAT_STICKS_OUT)}"
    assert page.evaluate(_UNLABELLED) == [], path
    assert page.evaluate(_NAMELESS) == [], path
    assert page.evaluate(_SAME_IDS) == [], path
    assert page.evaluate("scrollY") == 0, f"{path} opens scrolled down"
    assert page.locator("h1").count() == 1, path
    assert page.locator("main").count() == 1, path


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
@pytest.mark.parametrize("width", [390, 1440])
def test_public_pages(site: Site, world: World, locale: str, width: int) -> None:
    page = site.open(viewport={"width": width, "height": 844}, locale=locale)
    offer = public_id("offr", world.offer_of("lab-03").pk)
    others = ",".join(public_id("offr", world.offer_of(name).pk) for name in ("hpc-a1", "attic", "sim-eu-1"))
    for path in (*PUBLIC, f"/offers/{offer}", f"/compare?ids={offer},{others}&gpu_count=2"):
        _check(page, path)


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
@pytest.mark.parametrize("width", [390, 1440])
def test_personal_pages(site: Site, world: World, locale: str, width: int) -> None:
    running = order(world.alice, world.hosts["lab-03"], gpus=2, name="a-rather-long-name-of-an-instance-for-training-things")
    report(running, "running")
    failed = order(world.alice, world.hosts["lab-07"], gpus=1, name="failed")
    report(failed, "failed", failure_code="ssh_silent", detail="No SSH banner within 60 s.")
    page = site.sign_in("alice@example.com", viewport={"width": width, "height": 844}, locale=locale)
    offer = public_id("offr", world.offer_of("lab-03").pk)
    instances = [f"/instances/{public_id('inst', each.pk)}" for each in (running, failed)]
    for path in (*PERSONAL, *instances, f"/offers/{offer}/rent?gpu_count=2"):
        _check(page, path)


@pytest.mark.parametrize("width", [390, 1440])
def test_host_owners_pages(site: Site, world: World, width: int) -> None:
    page = site.sign_in("hana@example.com", viewport={"width": width, "height": 844})
    for path in ("/hosts", "/hosts/earnings", "/hosts/payouts", "/hosts/payouts/account"):
        _check(page, path)
