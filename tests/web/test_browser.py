"""The main ways through the console, clicked in a real browser, with a live stream and a strict policy."""

import re

import pytest
from django.core import mail
from playwright.sync_api import Page, expect

from accounts.mail.outbox import send_mails
from common import clock
from common.ids import public_id
from instances.host_reports.reconcile import observe_report
from instances.models import Instance
from marketplace.hosts.offers import set_price
from tests.one_time_code import current_code
from tests.web.conftest import Site, has_copied
from tests.web.world import KEY, OTHER_KEY, PASSWORD, World, order, person, report

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 844}


def _rent_path(world: World, host: str = "lab-03") -> str:
    return f"/offers/{public_id('offr', world.offer_of(host).pk)}/rent"


def _state(page: Page) -> object:
    return expect(page.locator("#instance .state").first)


def test_life_of_an_instance_by_clicking(site: Site, world: World) -> None:
    page = site.sign_in("alice@example.com")
    page.click("main .actions >> text=Rent")
    page.check("input[name=gpu_model][value=rtx-4090]")
    page.locator("tr", has_text="lab-03").get_by_role("link", name="Rent").click()
    page.locator("label.pick", has_text="2").first.click()
    expect(page.locator("#bill")).to_contain_text("$0.92")
    page.click('text="Add another key"')
    page.fill("#new-key", OTHER_KEY)
    page.click("#keys button")
    expect(page.locator("#keys label", has_text="new@desk").locator("input")).to_be_checked()
    page.fill("#id_name", "train")
    page.click("#confirm")
    page.wait_for_url("**/instances/inst_*")
    expect(page.locator("#instance .state").first).to_have_text("Queued")
    expect(page.locator(".live-up")).to_be_visible()

    instance = Instance.objects.get()
    page.evaluate("window.sameDocument = true")
    report(instance, "pulling", detail="Loading berth/base:1: 3 of 7 layers")
    expect(page.locator("#instance")).to_contain_text("3 of 7 layers")
    report(instance, "running")
    expect(page.locator("#instance .state").first).to_have_text("Running")
    page.click("button[data-copy=ssh-command]")
    has_copied(page, page.text_content("#ssh-command") or "no command")

    page.get_by_role("button", name="Stop", exact=True).click()
    page.locator("#ask").get_by_role("button", name="Cancel").click()
    expect(page.locator("#instance .state").first).to_have_text("Running")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.locator("#ask").get_by_role("button", name="Stop").click()
    expect(page.locator("#instance .state").first).to_have_text("Stopping")
    report(instance, "stopped")
    expect(page.locator("#instance .state").first).to_have_text("Stopped")
    page.get_by_role("button", name="Start", exact=True).click()
    report_when_starting(page, instance)
    page.get_by_role("button", name="Release").click()
    page.locator("#ask").get_by_role("button", name="Release").click()
    expect(page.locator("#instance .state").first).to_have_text("Releasing")
    observe_report(host_id=instance.host_id, rows=[], absent=[instance.pk], foreign=[], at=clock.now())
    expect(page.locator("#instance .state").first).to_have_text("Released")
    assert page.evaluate("window.sameDocument") is True


def report_when_starting(page: Page, instance: Instance) -> None:
    expect(page.locator("#instance .state").first).to_have_text("Starting")
    report(instance, "running")
    expect(page.locator("#instance .state").first).to_have_text("Running")


def test_list_is_live_and_keeps_the_focus(site: Site, world: World) -> None:
    instance = order(world.alice, world.hosts["lab-03"], gpus=1, name="box")
    page = site.sign_in("alice@example.com")
    row = page.locator("article", has_text="box")
    expect(page.locator(".live-up")).to_be_visible()
    copy = row.locator("[data-copy]")
    copy.focus()
    report(instance, "running")
    expect(row.locator(".state")).to_have_text("Running")
    expect(copy).to_be_focused()
    expect(row.get_by_role("link", name="JupyterLab")).to_be_visible()


def test_cost_ticks_between_two_messages(site: Site, world: World) -> None:
    instance = order(world.alice, world.hosts["hpc-h2"], gpus=8, name="box")
    report(instance, "running")
    report(instance, "running")
    page = site.sign_in("alice@example.com")
    cost = page.locator("article [data-cost-micros]")
    first = cost.inner_text()
    expect(cost).not_to_have_text(first)
    assert re.fullmatch(r"\$0\.\d\d", cost.inner_text())


def test_slow_poll_while_the_stream_is_down(lonely_site: Site, world: World) -> None:
    instance = order(world.alice, world.hosts["lab-03"], gpus=1, name="box")
    page = lonely_site.open()
    page.clock.install()
    page.goto("/accounts/login/")
    page.fill("#id_login", "alice@example.com")
    page.fill("#id_password", PASSWORD)
    page.click("main button[type=submit]")
    expect(page.locator(".live-down")).to_be_visible()
    report(instance, "running")
    page.clock.run_for(16_000)
    expect(page.locator("article .state")).to_have_text("Running")


def _tab_to(page: Page, wanted: str, *, at_most: int = 80) -> None:
    for _ in range(at_most):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", wanted):
            return
    pytest.fail(f"{wanted} cannot be reached with the Tab key")


def test_renting_by_keyboard_alone(site: Site, world: World) -> None:
    page = site.sign_in("alice@example.com")
    page.goto("/market?gpu_model=h100-sxm")
    page.keyboard.press("Tab")
    expect(page.locator(".skip-link")).to_be_focused()
    _tab_to(page, "tbody a.btn")
    page.keyboard.press("Enter")
    page.wait_for_url("**/rent?*")
    expect(page.locator("#confirm")).to_be_visible()
    _tab_to(page, "input[name=gpu_count]")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#bill")).to_contain_text("$4.98")
    _tab_to(page, "#confirm")
    page.keyboard.press("Enter")
    page.wait_for_url("**/instances/inst_*")
    assert Instance.objects.get().gpu_count == 2


def test_escape_means_no(site: Site, world: World) -> None:
    order(world.alice, world.hosts["lab-03"], gpus=1, name="box")
    page = site.sign_in("alice@example.com")
    page.get_by_role("button", name="Release").click()
    expect(page.locator("#ask")).to_be_visible()
    expect(page.locator("#ask").get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#ask")).to_be_hidden()
    expect(page.locator("article .state")).to_have_text("Queued")


def test_gpu_taken_by_someone_else_is_told_in_place(lonely_site: Site, world: World) -> None:
    page = lonely_site.sign_in("alice@example.com")
    page.goto(_rent_path(world, "attic"))
    expect(page.locator("#confirm")).to_be_visible()
    order(world.alice, world.hosts["attic"], gpus=2, name="faster")
    page.click("#confirm")
    expect(page.locator("#fault")).to_contain_text("These GPUs were just rented")
    expect(page.locator("#bill")).to_contain_text("No GPUs available right now")


def test_changed_price_shows_the_new_one(lonely_site: Site, world: World) -> None:
    page = lonely_site.sign_in("alice@example.com")
    page.goto(_rent_path(world))
    expect(page.locator("#bill")).to_contain_text("$0.46")
    set_price(actor_id=world.hana.pk, offer_id=world.offer_of("lab-03").pk, price_micros=500_000)
    page.click("#confirm")
    expect(page.locator("#fault")).to_contain_text("The price changed before you confirmed")
    expect(page.locator("#bill .lead-figure")).to_contain_text("$0.50")
    page.click("#confirm")
    page.wait_for_url("**/instances/inst_*")


def test_a_start_whose_gpus_are_taken_offers_a_place_in_line(lonely_site: Site, world: World) -> None:
    instance = order(world.alice, world.hosts["attic"], gpus=2, name="box")
    report(instance, "running")
    page = lonely_site.sign_in("alice@example.com")
    page.get_by_role("button", name="Stop", exact=True).click()
    page.locator("#ask").get_by_role("button", name="Stop").click()
    expect(page.locator("article .state")).to_have_text("Stopping")
    report(instance, "stopped")
    order(world.alice, world.hosts["attic"], gpus=1, name="faster")
    page.reload()
    page.locator("article", has_text="box").get_by_role("button", name="Start", exact=True).click()
    dialog = page.get_by_role("dialog", name="The GPUs are in use")
    expect(dialog).to_contain_text("before new renters")
    dialog.get_by_role("button", name="Join queue").click()
    expect(page.locator("article", has_text="box").locator(".state")).to_have_text("Waiting for GPUs")


def test_host_owner_enrols(site: Site, world: World) -> None:
    page = site.sign_in("hana@example.com")
    page.goto("/hosts")
    page.get_by_role("button", name="Add host").click()
    page.fill("#id_host_name", "new-box")
    page.fill("#id_region", "eu-west")
    page.fill("#id_price_micros", "much")
    page.click('text="Get the command"')
    expect(page.locator("#enrol")).to_contain_text("Enter a price, such as 1.50.")
    page.fill("#id_price_micros", "0.75")
    page.click('text="Get the command"')
    command = page.locator("#enrol-command")
    expect(command).to_contain_text(f"berth-agent enrol --url {site.url} --token join_")
    page.click("button[data-copy=enrol-command]")
    has_copied(page, command.inner_text())


def test_sign_up_verify_and_two_factor(site: Site, world: World) -> None:
    page = site.open()
    page.goto("/accounts/signup/")
    page.fill("#id_email", "new@example.com")
    page.fill("#id_password1", "a-long-enough-secret-7")
    page.fill("#id_password2", "a-long-enough-secret-7")
    page.click("main button[type=submit]")
    expect(page.locator("main")).to_contain_text("Verify Your Email Address")
    send_mails(now=clock.now())
    (own,) = [sent for sent in mail.outbox if sent.to == ["new@example.com"]]
    link = re.search(r"https?://\S+", str(own.body))
    assert link is not None
    page.goto(link.group())
    page.click("main button[type=submit]")
    page.goto("/accounts/login/")
    page.fill("#id_login", "new@example.com")
    page.fill("#id_password", "a-long-enough-secret-7")
    page.click("main button[type=submit]")
    expect(page.locator("main")).to_contain_text("No instances yet")
    page.goto("/settings/security")
    page.click('text="Turn on"')
    page.fill("#id_password", "a-long-enough-secret-7")
    page.click("main button[type=submit]")
    expect(page.locator("img.qr")).to_be_visible()
    page.wait_for_function("document.querySelector('img.qr').naturalWidth > 0")
    secret = page.input_value("#authenticator_secret")
    page.fill("#id_code", current_code(secret))
    page.click("main button[type=submit]")
    expect(page.locator("main")).to_contain_text("Recovery Codes")
    page.goto("/settings/security")
    expect(page.locator("main")).to_contain_text("Manage")


def test_colours_follow_the_system_until_chosen(site: Site, world: World) -> None:
    page = site.open(color_scheme="dark")
    page.goto("/market")
    root = page.locator("html")
    expect(root).to_have_attribute("data-bs-theme", "dark")
    page.click("[data-theme-toggle]")
    expect(root).to_have_attribute("data-bs-theme", "light")
    page.goto("/docs")
    expect(root).to_have_attribute("data-bs-theme", "light")
    page.click("[data-theme-toggle]")
    page.click("[data-theme-toggle]")
    expect(root).to_have_attribute("data-theme-choice", "auto")
    expect(root).to_have_attribute("data-bs-theme", "dark")


def test_language_switch(site: Site, world: World) -> None:
    page = site.open()
    page.goto("/market?gpu_model=t4")
    page.click('text="中文"')
    expect(page.locator("h1")).to_have_text("算力市场")
    expect(page).to_have_url(f"{site.url}/market?gpu_model=t4")
    page.click("button[lang=en]")
    expect(page.locator("h1")).to_have_text("Market")


def test_others_key_is_not_offered(site: Site, world: World) -> None:
    bob = person("bob@example.com", "Bob")
    page = site.sign_in(bob.email)
    page.goto(_rent_path(world))
    expect(page.locator("#keys")).not_to_contain_text("alice@laptop")
    page.fill("#new-key", KEY)
    page.click("#keys button")
    expect(page.locator("#keys label", has_text="alice@laptop").locator("input")).to_be_checked()


def test_a_lost_connection_is_no_error_of_the_page(site: Site) -> None:
    """It comes back by itself, and the page looks now and then meanwhile; nobody has to read of it in the console."""
    page = site.sign_in("alice@example.com")
    page.add_init_script("EventSource = class extends EventSource { constructor(url) { super(url); window.line = this; } }")
    page.reload()
    expect(page.locator("body[data-live=up]")).to_be_attached()
    page.evaluate("line.dispatchEvent(new Event('error'))")
    expect(page.locator("body[data-live=down]")).to_be_attached()
