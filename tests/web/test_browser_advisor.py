"""The advisor and the ranking, clicked and typed through: no reload, and an address that can be shared."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Site
from tests.web.world import World

pytestmark = pytest.mark.browser


def _opened(site: Site, path: str, **options: object) -> Page:
    page = site.open(**options)
    page.goto(path)
    page.evaluate("window.sameDocument = true")
    return page


def test_the_advice_follows_the_form(site: Site, world: World) -> None:
    page = _opened(site, "/advisor")
    expect(page.locator(".preset[aria-current]")).to_have_text("7B chat, inference")
    page.locator("label.pick", has_text="LoRA fine-tuning").click()
    expect(page.locator("#step-training")).to_contain_text("LoRA freezes the weights")
    page.fill("#id_parameters", "70B")
    page.press("#id_parameters", "0")  # a key is let go: 70B0 is no number
    expect(page.locator("#work")).to_contain_text("Enter a number, such as")
    expect(page.locator("#id_parameters")).to_be_focused()
    page.press("#id_parameters", "Backspace")
    expect(page.locator(".tile-main")).to_contain_text("4 × 48 GB")
    assert page.evaluate("window.sameDocument") is True
    expect(page).to_have_url(re.compile("parameters=70B"))
    page.reload()
    expect(page.locator(".tile-main")).to_contain_text("4 × 48 GB")
    expect(page.locator("#id_parameters")).to_have_value("70B")


def test_the_fields_follow_the_kind_of_model(site: Site, world: World) -> None:
    page = _opened(site, "/advisor")
    expect(page.locator("#id_sequence")).to_be_visible()
    page.select_option("#id_family", "vision")
    expect(page.locator("#id_pixels")).to_be_visible()
    expect(page.locator("#id_sequence")).to_have_count(0)
    expect(page.locator("#finer")).to_have_count(0)


def test_presets_work_by_keyboard_and_the_back_button_returns(site: Site, world: World) -> None:
    page = _opened(site, "/advisor")
    page.locator(".preset", has_text="ResNet-50").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".preset[aria-current]")).to_contain_text("ResNet-50")
    expect(page.locator("#id_batch")).to_have_value("256")
    assert page.evaluate("window.sameDocument") is True
    page.go_back()
    expect(page.locator(".preset[aria-current]")).to_contain_text("7B chat")
    expect(page.locator("#id_batch")).to_have_value("2")


def test_the_way_to_the_market_shows_as_many_offers(site: Site, world: World) -> None:
    page = _opened(site, "/advisor")
    found = page.locator("table.runs tbody tr").count()
    assert found == 8
    page.locator(".section-head a").click()
    expect(page.locator("tr.offer-row")).to_have_count(found)


def test_the_ranking_sorts_without_a_reload(site: Site, world: World) -> None:
    page = _opened(site, "/guide/gpus")
    first = page.locator(".models tbody tr .model-name strong").first
    expect(first).to_have_text("B200")
    page.locator("a.sort", has_text="Price").click()
    expect(first).to_have_text("RTX 2080 Ti")
    assert page.evaluate("window.sameDocument") is True
    expect(page).to_have_url(f"{site.url}/guide/gpus?sort=price")
    page.go_back()
    expect(first).to_have_text("B200")
