"""Changes of an instance, clicked: a larger disk, another number of GPUs, a fresh root taken back, a start without a GPU."""

import pytest
from playwright.sync_api import Page, expect

from common.ids import public_id
from common.object_store import Place
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from marketplace.models import Offer
from storage.clients.s3.client import ProbeResult
from storage.models import Operation
from storage.object_sync.connections import CheckedConnection, save_connection
from tests.web.conftest import Site
from tests.web.world import World, report
from tests.web.world_actions import rented_running

pytestmark = pytest.mark.browser

TYPE_AT_ONCE = """([id, value]) => {
    const watcher = new MutationObserver(() => {
        const field = document.getElementById(id);
        if (!field) return;
        watcher.disconnect();
        field.value = value;
        field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    watcher.observe(document.body, { childList: true, subtree: true });
}"""


def send(page: Page) -> None:
    """The dialog's form. The page comes anew, with its scripts; the old one may tell the outcome before it leaves."""
    with page.expect_navigation():
        page.locator("#action button[type=submit]").click()


@pytest.mark.parametrize("width", [390])
def test_every_change_from_the_instance_page(site: Site, world: World, width: int) -> None:
    Offer.objects.update(disk_micros_gb_day=4_800)
    instance = rented_running(world, "box", gpu_count=2)
    address = f"/instances/{public_id('inst', instance.pk)}"
    page = site.sign_in("alice@example.com", viewport={"width": width, "height": 844})
    dialog = page.locator("#action")

    page.goto(address)
    # Somebody who types as soon as the form is there: the price follows what is in the field.
    page.evaluate(TYPE_AT_ONCE, ["resize-disk", "150"])
    page.click('text="Choose size"')
    expect(dialog).to_contain_text("Stop the instance to change the number of GPUs")
    expect(dialog).to_contain_text("→")
    send(page)
    expect(page.locator("main")).to_contain_text("Expanding the data disk to 150 GB")
    assert Operation.objects.get().args["size_gb"] == "150"
    Operation.objects.all().delete()

    page.click("main >> text=Choose image")
    dialog.locator("button[type=submit]").click()
    expect(dialog).to_be_visible()  # the browser asks for the confirmation first
    dialog.locator("[name=understood]").check()
    send(page)
    expect(page.locator("main")).to_contain_text("Changing the image to Berth base")
    instance.refresh_from_db()
    assert (instance.state, instance.root_number) == ("restarting", 1)
    report(instance, "running")

    page.goto(address)
    page.locator("form[action$='/stop'] button").first.click()
    page.click("#ask button[value=yes]")
    expect(page.locator("main")).to_contain_text("Stop requested")
    report(instance, "stopped")
    page.reload()
    page.click('text="Choose size"')
    dialog.locator("#resize-gpus").select_option("1")
    send(page)
    expect(page.locator("main")).to_contain_text("Number of GPUs changed")
    page.click("main >> text=Choose image")
    dialog.locator("[name=understood]").check()
    send(page)
    page.click('text="Cancel image change"')
    expect(page.locator("main")).to_contain_text("Image change cancelled")

    page.locator("form[action$='/start_cpu'] button").click()
    page.click("#ask button[value=yes]")
    expect(page.locator("main")).to_contain_text("Started without GPU")
    instance.refresh_from_db()
    assert (instance.cpu_only, instance.gpu_count) == (True, 1)
    report(Instance.objects.get(pk=instance.pk), "running")
    page.reload()
    expect(page.locator("main")).to_contain_text("Running without a GPU")
    over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert over <= 0


def test_what_is_chosen_and_not_sent_outlives_a_part_that_comes_anew(site: Site, world: World) -> None:
    place = Place("https://s3.example.org", "eu-central-1", "experiments", "", "KEY", "secret")
    save_connection(owner=world.alice, name="backups", tried=CheckedConnection(place, ProbeResult(False, True)))
    instance = rented_running(world, "box", gpu_count=1)
    page = site.sign_in("alice@example.com")
    page.goto(f"/instances/{public_id('inst', instance.pk)}")
    disks, choice = page.locator("#disks"), page.get_by_role("combobox", name="Archive before deletion")
    disks.get_by_text("Deleted without an archive when retention ends").click()
    choice.select_option("backups")
    page.evaluate("document.activeElement.blur()")
    with page.expect_response("**/disks"):
        page.evaluate("htmx.trigger('#disks', 'live')")
    with page.expect_response("**/disks"):  # the answer to the first is on the page by then
        page.evaluate("htmx.trigger('#disks', 'live')")
    expect(choice.locator("option:checked")).to_have_text("backups")
    disks.locator("form[action$='/archive'] button").click()
    expect(disks).to_contain_text("Archived to backups before deletion")
    choice.select_option("No archive")
    disks.locator("form[action$='/archive'] button").click()
    expect(disks).to_contain_text("Deleted without an archive when retention ends")
    expect(choice.locator("option:checked")).to_have_text("No archive")


def test_a_button_that_has_the_focus_says_what_it_does_now(site: Site, world: World, running: Instance) -> None:
    """The page comes anew around it: the words of an order must be those of the form that it would send."""
    page = site.sign_in("alice@example.com")
    page.goto(f"/instances/{public_id('inst', running.pk)}")
    button = page.locator("main form[action$='/stop'] button").first
    expect(button).to_have_text("Stop")
    button.focus()
    stop_instance(renter=world.alice, instance_id=running.pk)
    report(running, "stopped")
    expect(page.locator(".page-head .state")).to_have_text("Stopped")
    words = page.locator("main .actions form").evaluate_all(
        "forms => forms.map(form => [form.action.split('/').pop(), form.querySelector('button').innerText.trim()])"
    )
    assert dict(words)["start"] == "Start"
