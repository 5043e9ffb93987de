"""The wait list, clicked: from the market's search to a place, and from a place to what was rented, without a reload."""

import re

import pytest
from playwright.sync_api import expect

from billing.models import Wallet
from common import clock
from instances.models import Instance, Watch
from instances.wait_list.wait_list import serve_entries
from marketplace.hosts.offers import set_price
from tests.web.conftest import Site
from tests.web.world import World, keep_alive

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 844}


@pytest.mark.parametrize("viewport", [{"width": 1440, "height": 900}, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rent_for_me_from_the_form_to_the_instance(site: Site, world: World, viewport: object, scheme: str) -> None:
    page = site.sign_in("alice@example.com", viewport=viewport, color_scheme=scheme)
    page.goto("/watches")
    expect(page.locator("#watches")).to_contain_text("Your waitlist is empty")
    page.click('text="Join waitlist"')
    page.fill("#watch-q", "rtx-4090 count=2 not simulated")
    expect(page.locator("#watch-image")).to_be_hidden()
    page.check("#watch-form input[value=rent]")
    expect(page.locator("#watch-image")).to_be_visible()
    page.fill("#watch-max_price", "0.40")
    page.fill("#watch-name", "night")
    expect(page.locator("#watch-preview")).to_contain_text("$0.80")
    page.evaluate("window.sameDocument = true")
    page.click('#watch-form >> text="Join waitlist"')
    waiting = page.locator("#watches article")
    expect(waiting).to_contain_text("You're first")
    expect(waiting).to_contain_text("$0.80")
    expect(page.locator(".live-up")).to_be_visible()
    assert Wallet.objects.get(owner=world.alice, kind="renter").held_micros == 800_000

    page.evaluate("window.sameDocument = true")
    offer = world.offer_of("sh-gpu-12")
    set_price(actor_id=world.hana.pk, offer_id=offer.pk, price_micros=390_000)
    keep_alive(world.hosts)
    assert serve_entries(now=clock.now()) == 1
    expect(page.locator("#watches .state")).to_have_text("Rented for you")
    assert page.evaluate("window.sameDocument") is True
    page.locator("#watches").get_by_role("link", name="night").click()
    expect(page.locator("h1")).to_contain_text("night")
    expect(page.locator("main")).to_contain_text("Rented for you from the waitlist")
    assert Instance.objects.get().rate_micros_per_hour == 780_000


def test_a_place_is_taken_on_the_market_and_given_up(site: Site, world: World) -> None:
    page = site.sign_in("alice@example.com")
    page.goto("/market?q=rtx-2080-ti+price%3C0.05")
    page.get_by_role("button", name="Join the waitlist").first.click()
    dialog = page.locator("dialog#watch")
    expect(dialog.locator("#watch-q")).to_have_value("gpu=rtx-2080-ti price<0.05")
    expect(dialog.locator("#watch-max_price")).to_have_value("0.05")
    expect(page).to_have_url(re.compile("/market"))
    dialog.get_by_role("button", name="Join waitlist").click()
    page.wait_for_url("**/watches")
    expect(page.locator("#toasts")).to_contain_text("You joined the waitlist")
    page.locator("#watches").get_by_role("button", name="Cancel").click()
    page.locator("#ask").get_by_role("button", name="Leave waitlist").click()
    expect(page.locator("#watches .state")).to_have_text("Cancelled")
    assert Watch.objects.get().state == "cancelled"


def test_what_is_wrong_is_said_in_the_dialog_which_stays_as_it_was(site: Site, world: World) -> None:
    page = site.sign_in("alice@example.com", locale="zh-CN")
    page.goto("/watches")
    page.locator("main .actions a").click()
    page.fill("#watch-q", "gpu=rtx-4090 prise<1")
    page.check("#watch-form input[value=rent]")
    page.fill("#watch-max_price", "999")
    page.locator("#watch-form button[type=submit]").click()
    fault = page.locator("#watch-form .note-error")
    expect(fault).to_contain_text("price")
    expect(page.locator("#watch-q")).to_have_value("gpu=rtx-4090 prise<1")
    page.fill("#watch-q", "gpu=rtx-4090")
    page.locator("#watch-form button[type=submit]").click()
    expect(fault).not_to_contain_text("prise")
    expect(page.locator("#watch-max_price")).to_have_value("999")
    assert not Watch.objects.exists()


def test_who_is_not_signed_in_is_sent_to_sign_in(site: Site, world: World) -> None:
    page = site.open()
    page.goto("/market?q=rtx-2080-ti+price%3C0.05")
    page.get_by_role("button", name="Join the waitlist").first.click()
    page.wait_for_url("**/accounts/login/?next=/market*")
