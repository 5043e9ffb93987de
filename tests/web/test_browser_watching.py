"""Use over time and alerts, clicked: other ranges, an alert set aside, the list of everything, a webhook and its test."""

from datetime import timedelta

import pytest
from playwright.sync_api import expect

from common import clock
from common.ids import public_id
from instances.models import Alert
from tests.web.conftest import Site
from tests.web.world import World, keep_alive, order, report, run_for
from tests.web.world_watching import a_month_of_use

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [390, 1440])
def test_ranges_alerts_activity_and_a_webhook(site: Site, world: World, width: int) -> None:
    instance = order(world.alice, world.hosts["lab-03"], gpus=2, name="night")
    now = clock.now()
    report(instance, "running")
    run_for(instance, since=now - timedelta(minutes=5), until=now, step=timedelta(minutes=1))
    keep_alive(world.hosts)
    a_month_of_use(instance)
    Alert.objects.create(instance=instance, kind="gpu_idle", facts={"minutes": 30, "rate_micros": 460_000})
    page = site.sign_in("alice@example.com", viewport={"width": width, "height": 900})
    page.goto(f"/instances/{public_id('inst', instance.pk)}")
    use = page.locator("[data-graphs]")
    expect(use.locator(".uplot:visible")).to_have_count(8)
    expect(use.locator("[data-gpus] tbody tr")).to_have_count(2)
    for key, words, graphs in (("30d", "every 3 hours", 8), ("10m", "second by second", 6)):
        use.locator(f"[data-range-key='{key}']").click()
        expect(use.locator("[data-range-step]")).to_have_text(words)
        expect(use.locator("[data-graph-card]:visible")).to_have_count(graphs)
        expect(use.locator(f"[data-range-key='{key}']")).to_have_attribute("aria-pressed", "true")
    page.evaluate("window.sameDocument = true")
    expect(page.locator(".note-alert")).to_contain_text("GPUs are idle")
    page.click('text="Dismiss"')
    expect(page.locator(".note-alert")).to_have_count(0)
    assert page.evaluate("window.sameDocument") is True
    assert Alert.objects.get().resolution == "renter"
    page.click('text="View all"')
    page.wait_for_url("**/activity*")
    page.wait_for_load_state()  # a filter that is changed before htmx has taken up the form would change nothing
    page.select_option("#f-group", "alerts")
    expect(page.locator("#activity li")).to_have_count(1)
    expect(page.locator("#activity")).to_contain_text("An alert ended")
    with page.expect_response("**/activity?*"):  # news come: the filter stays
        page.evaluate("htmx.trigger(document.body, 'changed')")
    page.wait_for_timeout(500)
    expect(page.locator("#activity li")).to_have_count(1)
    page.goto("/settings/webhooks")
    page.fill("#id_url", "https://9.9.9.9/berth")
    page.click('button:has-text("Add webhook")')
    expect(page.locator("#new-secret")).to_contain_text("whsec_")
    page.locator("main li").get_by_role("link", name="https://9.9.9.9/berth").first.click()
    page.click('text="Send test"')
    expect(page.locator("#deliveries")).to_contain_text("sending", ignore_case=True)
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert over <= 0
