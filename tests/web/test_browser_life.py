"""Clicked: a schedule set in the reader's zone, a locked instance, a place in line, data kept for a fee."""

import pytest
from playwright.sync_api import expect

from common.ids import public_id
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from tests.web.conftest import Site
from tests.web.world import World, person, report

pytestmark = pytest.mark.browser


def rented(world: World, email: str, name: str, gpus: int) -> Instance:
    renter = world.alice if email.startswith("alice") else person(email, "Neighbour")
    offer = world.offer_of("attic")
    quote = create_quote(renter=renter, offer_id=offer.pk, image="berth-base", gpu_count=gpus)
    instance = rent_instance(renter=renter, quote_id=quote.pk, name=name)
    report(instance, "running")
    return instance


@pytest.mark.parametrize("width", [390])
def test_from_a_schedule_to_the_line_and_kept_data(site: Site, world: World, width: int) -> None:
    mine = rented(world, "alice@example.com", "box", 1)
    page = site.sign_in("alice@example.com", viewport={"width": width, "height": 844}, timezone_id="Asia/Shanghai")
    page.goto(f"/instances/{public_id('inst', mine.pk)}")
    page.locator("[data-open=schedule]").click()
    form = page.locator("#schedule-form")
    expect(form.locator("[name=time_zone]")).to_have_value("Asia/Shanghai")
    form.locator("[name=week-0-action]").select_option("stop")
    form.locator("[name=week-0-time]").fill("20:30")
    form.locator('text="Save"').click()
    expect(form).to_contain_text("Choose at least one day")
    form.locator("[name=week-0-days][value='0']").check()
    form.locator("[name=locked]").check()
    form.locator('text="Save"').click()
    expect(page.locator("main")).to_contain_text("protected")
    expect(page.locator("main")).to_contain_text("Asia/Shanghai")
    mine.refresh_from_db()
    assert (mine.locked, mine.weekly[0]["days"], mine.time_zone) == (True, [0], "Asia/Shanghai")

    stop_instance(renter=world.alice, instance_id=mine.pk)
    report(mine, "stopped")
    rented(world, "alice@example.com", "other", 2)
    page.reload()
    page.locator("[data-open=keep]").click()
    page.locator("#keep button[type=submit]").first.click()
    expect(page.locator("body")).to_contain_text("Data retention extended")
    page.click("button:has-text('Start') >> nth=0")
    expect(page.locator("#ask")).to_contain_text("Join queue")
    page.locator("#ask [value=yes]").click()
    expect(page.locator("main")).to_contain_text("Queued for GPUs: 1 of 1")
    page.click('text="Leave queue"')
    expect(page.locator("#instance")).to_contain_text("Stopped; no charges")
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert over <= 0
