"""An instance on its schedule, and what is answered to a page that shows what is no more: clicked in a real browser."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.docker.browser_desk import PATIENCE_MS, TOO_LATE, Desk, Engine, rent
from tests.stack import renting

pytestmark = pytest.mark.docker

DUE = """
from django.utils import timezone
from instances.models import Instance
now = timezone.now()
Instance.objects.filter(pk="{id}").update(timed_stop_at=now, due_at=now)
"""


def test_what_it_does_by_itself_and_pages_that_are_late(desk: Desk, away: Engine) -> None:
    page, stack = desk.page, desk.stack
    clock = rent(desk, "two", "clock", image="tiny")

    # A week and a timer; the timer is brought forward behind the page's back.
    page.locator("[data-open=schedule]").click()
    dialog = page.locator("#schedule")
    expect(dialog.locator("[name=time_zone]")).to_have_value("Asia/Shanghai", timeout=PATIENCE_MS)
    dialog.locator("[name=stop_at]").fill(f"{datetime.now(UTC) + timedelta(days=30):%Y-%m-%dT%H:%M}")
    dialog.locator("[name=week-0-action]").select_option("start")
    dialog.locator("[name=week-0-time]").fill("09:00")
    for day in range(5):
        dialog.locator(f"[name=week-0-days][value='{day}']").check()
    dialog.locator("[name=idle]").check()
    desk.look("schedule")
    dialog.locator("button[type=submit]").click()
    desk.toast("Saved. The schedule is active.")
    desk.says("Next start")
    desk.says("below 5% for 30 min")
    desk.look("scheduled")
    stack.manage("shell", "-c", DUE.format(id=clock))

    # Meanwhile: what is asked of a page that shows what is no more.
    late = rent(desk, "two", "late", image="tiny")
    desk.button("stop").click()
    other = desk.another_tab(f"/instances/inst_{late}")
    other.locator("main form[action$='/stop']:not(:has([name=hold])) button").first.click()
    other.click("#ask button[value=yes]")
    desk.is_now("Stopped")
    desk.confirm()
    desk.toast(TOO_LATE)
    desk.look("late")
    page.get_by_role("link", name="Choose size").click()
    page.fill("#resize-disk", "2")
    other.locator("main form[action$='/release'] button").click()
    other.click("#ask button[value=yes]")
    desk.is_now("Released")
    page.locator("#action button[type=submit]").click()
    desk.says("This isn't possible in the instance's current state.", where="#action")
    desk.look("late-dialog")
    page.go_back()  # to the rent page, whose quote is used up: it reckons a new one
    expect(page.locator("#confirm:enabled")).to_be_visible(timeout=PATIENCE_MS)
    page.goto(f"/instances/inst_{late}/clone")
    desk.says("Not possible right now")

    # Kept for longer; then in line for GPUs that somebody else has.
    desk.open(clock)
    desk.is_now("Stopped")
    desk.says("Stopped on schedule")
    assert not away.runs(clock)
    page.locator("[data-open=keep]").click()
    desk.look("keep")
    page.locator("#keep button[type=submit]").first.click()
    desk.toast("Data retention extended")
    desk.says("Free until")
    bob = stack.client("bob")
    rival = renting.rent(bob, renting.offer_of(bob, "two"), image="tiny", gpu_count=2, data_disk_gb=1)
    renting.wait_for_state(bob, rival, "running")
    page.reload()
    desk.act("start")
    desk.says("Queued for GPUs: 1 of 1")
    desk.look("in-line")
    desk.act("stop", sure=False)
    desk.is_now("Stopped")
    desk.says("Stop requested")
    desk.act("start")
    desk.says("Queued for GPUs: 1 of 1")
    renting.release(bob, rival)
    desk.is_now("Running")
    assert away.runs(clock)
    desk.release()
    stack.manage("verify_ledger")
