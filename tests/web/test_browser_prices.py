"""The calculator and the forms of prices in a browser: no reload, by keyboard, at both widths, a silent console."""

import re

import pytest
from playwright.sync_api import Page, expect

from common.ids import public_id
from tests.web.conftest import Site
from tests.web.test_browser_pages import _check
from tests.web.world import World

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
@pytest.mark.parametrize("width", [390, 1440])
def test_the_calculator_fits(site: Site, world: World, locale: str, width: int) -> None:
    page = site.open(viewport={"width": width, "height": 844}, locale=locale)
    offer = public_id("offr", world.offer_of("lab-03").pk)
    for path in ("/calculator", f"/calculator?offer={offer}&gpu_count=2&hours=500", "/calculator?unit_price=dear"):
        _check(page, path)


def _mark(page: Page) -> None:
    """Something that a full load would take away."""
    page.evaluate("document.body.dataset.stays = '1'")


def test_it_reckons_while_one_types(site: Site, world: World) -> None:
    page = site.open()
    page.goto("/calculator")
    page.wait_for_load_state("networkidle")
    _mark(page)
    page.focus("#id_unit_price")
    page.keyboard.press("Control+A")
    page.keyboard.type("2.80")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    for field, text in (("#id_spot_price", ""), ("#id_tiers", "720:15"), ("#id_hours", "1000")):
        page.focus(field)
        page.keyboard.press("Control+A")
        page.keyboard.press("Delete")
        page.keyboard.type(text)
    results = page.locator("#calculator-results")
    expect(results).to_contain_text("$2,682.40")
    expect(results).to_contain_text("No price entered: Reserved, Spot.")
    expect(page).to_have_url(re.compile(r"/calculator\?unit_price=2\.80&tiers=720%3A15&hours=1000$"))
    assert page.evaluate("document.body.dataset.stays") == "1"
    page.reload()
    expect(page.locator("#calculator-results")).to_contain_text("$2,682.40")
    page.fill("#id_hours", "many")
    expect(page.locator("#calculator-results")).to_contain_text("Hours of use")


def test_an_offer_brings_its_own_prices(site: Site, world: World) -> None:
    page = site.open()
    page.goto("/calculator")
    offer = world.offer_of("lab-03")
    expect(page.locator("#id_unit_price")).to_be_visible()
    expect(page.locator("#id_data_disk_gb")).to_be_hidden()
    page.select_option("#id_offer", public_id("offr", offer.pk))
    expect(page.locator("#calculator-results")).to_contain_text("View RTX 4090 on lab-03")
    expect(page.locator("#id_unit_price")).to_be_hidden()
    expect(page.locator("#id_data_disk_gb")).to_be_visible()
    page.get_by_role("link", name="On-demand at 3.06, 8,760 hours").click()
    expect(page.locator("#id_unit_price")).to_have_value("3.06")
    expect(page.locator("#calculator-results")).to_contain_text("$26,805.60")


def test_a_host_owner_sets_every_price(site: Site, world: World) -> None:
    page = site.sign_in("hana@example.com", viewport={"width": 390, "height": 844})
    offer = world.offer_of("lab-07")
    path = f"/offers/{public_id('offr', offer.pk)}/prices"
    _check(page, path)
    _mark(page)
    page.fill("#id_month", "25")
    page.fill("#id_spot_floor", "9")
    page.get_by_role("button", name="Save prices").click()
    expect(page.locator(".price-form")).to_contain_text("no higher than the on-demand price")
    page.fill("#id_spot_floor", "0.1")
    page.get_by_role("button", name="Save prices").click()
    expect(page.locator(".price-form")).to_contain_text("Saved.")
    assert page.evaluate("document.body.dataset.stays") == "1"
    offer.refresh_from_db()
    assert (offer.reserved_discounts["month"], offer.spot_floor_micros) == (2_500, 100_000)
