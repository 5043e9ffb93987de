"""A bid, clicked: its outlook on the rent page while one types, and changed in the dialog with the price chart."""

import pytest
from playwright.sync_api import expect

from common.ids import public_id
from instances.models import Instance, SpotBid
from instances.spot.market_tick import tick_offer
from marketplace.models import Offer
from tests.web.conftest import Site
from tests.web.world import World, report

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [390, 1440])
def test_a_bid_from_the_rent_page_to_the_dialog(site: Site, world: World, width: int) -> None:
    offer = world.offer_of("attic")
    Offer.objects.filter(pk=offer.pk).update(spot_floor_micros=50_000)
    page = site.sign_in("alice@example.com", viewport={"width": width, "height": 844})
    page.goto(f"/offers/{public_id('offr', offer.pk)}/rent?billing_mode=spot")
    page.check("#rent-form input[name=billing_mode][value=spot]")
    page.fill("#id_max_price", "0.04")
    expect(page.locator("#rent-form")).to_contain_text("This price can't get GPUs")
    page.fill("#id_max_price", "0.08")
    page.press("#id_max_price", "Tab")
    expect(page.locator("#rent-form")).to_contain_text("Would start now, at $0.05/GPU-hour")
    expect(page.locator("#bill")).to_contain_text("$0.08")
    page.click('text="Confirm and rent"')
    page.wait_for_url("**/instances/inst_*")
    expect(page.locator("main")).to_contain_text("Waiting for GPUs at your max price")

    tick_offer(offer_id=offer.pk)
    instance = Instance.objects.get()
    report(instance, "running")
    page.reload()
    page.click('text="Change max price"')
    dialog = page.locator("#bid")
    expect(dialog).to_contain_text("Would start now, at $0.05/GPU-hour")
    expect(dialog.locator("svg.chart")).to_be_visible()
    dialog.locator("#bid-max").fill("0.01")
    expect(dialog).to_contain_text("This price can't get GPUs")
    dialog.locator("#bid-max").press("Enter")
    expect(dialog).to_contain_text("0.05 or more")
    dialog.locator("#bid-max").fill("0.20")
    dialog.locator("#bid-max").press("Enter")
    expect(page.locator("body")).to_contain_text("Max price changed")
    expect(dialog).to_be_hidden()
    assert SpotBid.objects.get(pk=instance.pk).max_price_micros == 200_000
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert over <= 0
