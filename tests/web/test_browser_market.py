"""The market clicked and typed through: filters, line, chips, paging, comparison, saved searches, wait list."""

import re

import pytest
from playwright.sync_api import Page, expect

from common.ids import public_id
from tests.web.conftest import Site
from tests.web.world import World
from tests.web.world_crowd import crowd

pytestmark = pytest.mark.browser

PHONE = {"width": 390, "height": 844}


def _market(site: Site, path: str = "/market", **options: object) -> Page:
    """The page, marked: a full reload would lose the mark."""
    page = site.open(**options)
    page.goto(path)
    page.evaluate("window.sameDocument = true")
    return page


def _is_same_document(page: Page) -> bool:
    return page.evaluate("window.sameDocument") is True


def test_filters_change_rows_and_address_without_a_reload(site: Site, world: World) -> None:
    page = _market(site)
    expect(page.locator("tr.offer-row")).to_have_count(10)
    page.check("input[name=region][value=Shanghai]")
    expect(page.locator("tr.offer-row")).to_have_count(2)
    page.locator("label.segment", has_text="4").first.click()
    page.fill("#f-price", "0.50")
    expect(page.locator("tr.offer-row")).to_have_count(1)
    expect(page.locator("#f-price")).to_be_focused()
    expect(page.locator("#q")).to_have_value("count=4 region=Shanghai price<=0.5")
    assert _is_same_document(page)
    expect(page).to_have_url(f"{site.url}/market?gpu_count=4&region=Shanghai&price_max=0.5")


def test_shared_address_shows_the_same_in_another_browser(site: Site, world: World) -> None:
    page = _market(site)
    page.check("input[name=region][value=Shanghai]")
    page.locator("#s-machine summary").click()
    page.select_option("#f-cpu", "12")
    page.select_option("#f-sort", "-vram")
    page.wait_for_url("**sort=-vram*")
    other = site.open()
    other.goto(page.url)
    shown = other.locator("tr.offer-row").all_inner_texts()
    assert shown
    expect(page.locator("tr.offer-row")).to_have_text(shown, use_inner_text=True)  # the address may be ahead of the rows
    expect(other.locator("input[value=Shanghai]")).to_be_checked()
    expect(other.locator("#f-cpu")).to_have_value("12")
    expect(other.locator("#f-sort")).to_have_value("-vram")


_SLOW = """() => {
    const send = XMLHttpRequest.prototype.send;
    XMLHttpRequest.prototype.send = function (...body) { setTimeout(() => send.apply(this, body), 500); };
}"""


def test_what_is_chosen_while_answers_are_on_their_way_all_counts(site: Site, world: World) -> None:
    page = _market(site)
    page.locator("#s-machine summary").click()
    page.evaluate(_SLOW)
    page.check("input[name=region][value=Shanghai]")
    page.select_option("#f-cpu", "12")
    page.select_option("#f-sort", "-vram")
    page.wait_for_url("**sort=-vram*")
    expect(page).to_have_url(re.compile("(?=.*region=Shanghai)(?=.*cpu_cores_min=12)"))
    expect(page.locator("#market")).not_to_have_class(re.compile("htmx-request"))
    expect(page.locator("#f-cpu")).to_have_value("12")
    expect(page.locator("#f-sort")).to_have_value("-vram")


def test_back_button_takes_the_filter_back(site: Site, world: World) -> None:
    page = _market(site)
    page.check("input[name=region][value=Shanghai]")
    expect(page.locator("tr.offer-row")).to_have_count(2)
    page.go_back()
    expect(page.locator("tr.offer-row")).to_have_count(10)
    expect(page.locator("input[value=Shanghai]")).not_to_be_checked()
    page.go_forward()
    expect(page.locator("tr.offer-row")).to_have_count(2)
    expect(page.locator("input[value=Shanghai]")).to_be_checked()


def test_line_by_keyboard_fills_the_panel(site: Site, world: World) -> None:
    page = _market(site)
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("4090 count>=2 region in [eu-west,Shanghai] fp16>100")
    page.keyboard.press("Enter")
    expect(page.locator("tr.offer-row")).to_have_count(3)
    expect(page.locator("input[name=gpu_model][value=rtx-4090]")).to_be_checked()
    expect(page.locator("input[name=gpu_count][value='2']")).to_be_checked()
    expect(page.locator(".chips li")).to_have_count(5)
    expect(page.locator("#q")).to_be_focused()
    assert _is_same_document(page)
    page.uncheck("input[value=Shanghai]")
    expect(page.locator("tr.offer-row")).to_have_count(2)
    expect(page.locator("#q")).to_have_value("count=2 gpu=rtx-4090 fp16>100 region=eu-west")


def test_chips_take_conditions_away(site: Site, world: World) -> None:
    page = _market(site, "/market?region=Shanghai&gpu_model=rtx-4090&fp16__gt=100")
    expect(page.locator("tr.offer-row")).to_have_count(1)
    page.get_by_role("link", name="Remove filter: Region: Shanghai").click()
    expect(page.locator("tr.offer-row")).to_have_count(3)
    page.get_by_role("link", name=re.compile("Remove filter: FP16")).click()
    expect(page.locator(".chips li")).to_have_count(2)
    page.get_by_role("link", name="Clear all").click()
    expect(page.locator("tr.offer-row")).to_have_count(10)
    expect(page).to_have_url(f"{site.url}/market")
    assert _is_same_document(page)


def test_wrong_line_is_marked_and_changes_nothing(site: Site, world: World) -> None:
    page = _market(site, "/market?region=Shanghai")
    page.fill("#q", "gpu=rtx-4090 vrm>24")
    page.keyboard.press("Enter")
    expect(page.locator(".line-fault mark")).to_have_text("vrm>24")
    expect(page.locator(".line-fault")).to_contain_text("At character 14:")
    expect(page.locator(".line-fault")).to_contain_text("Did you mean vram?")
    expect(page.locator("tr.offer-row")).to_have_count(2)
    expect(page.locator("#q")).to_have_value("gpu=rtx-4090 vrm>24")
    expect(page).to_have_url(f"{site.url}/market?region=Shanghai")
    page.fill("#q", "gpu=rtx-4090 vram>=24")
    page.keyboard.press("Enter")
    expect(page.locator("tr.offer-row")).to_have_count(3)
    expect(page.locator(".line-fault")).to_have_count(0)


def test_nothing_left_says_because_of_what(site: Site, world: World) -> None:
    page = _market(site, "/market?gpu_model=h100-sxm&price_max=0.5")
    expect(page.locator(".nothing")).to_contain_text("No available offers match your filters")
    page.get_by_role("link", name=re.compile("Remove Price per GPU-hour")).click()
    expect(page.locator("tr.offer-row")).to_have_count(1)
    assert _is_same_document(page)


def test_disk_and_mode_change_every_price(site: Site, world: World) -> None:
    page = _market(site, "/market?region=Shanghai&gpu_model=rtx-4090")
    expect(page.locator(".offer-price")).to_contain_text("$0.42")
    page.fill("#f-data-disk", "1050")
    expect(page.locator(".offer-price")).to_contain_text("$0.43")
    page.locator("label.segment", has_text="Reserved").click()
    expect(page.locator(".offer-price")).to_contain_text("$0.346")
    page.locator("tr.offer-row").get_by_role("link", name=re.compile("^Rent")).click()
    page.wait_for_url("**/accounts/login/**")
    expect(page).to_have_url(re.compile("billing_mode%3Dreserved"))


def test_folded_sections_stay_as_the_reader_left_them(site: Site, world: World) -> None:
    page = _market(site)
    page.locator("#s-network summary").click()
    page.locator("#s-price summary").click()
    page.check("input[name=region][value=Shanghai]")
    expect(page.locator("tr.offer-row")).to_have_count(2)
    expect(page.locator("#f-net_up")).to_be_visible()
    expect(page.locator("#f-price")).to_be_hidden()


def test_pages_forth_and_back(site: Site, world: World) -> None:
    crowd(world.hana, 70)
    page = _market(site)
    expect(page.locator("#result-count")).to_have_text("80 offers")
    expect(page.locator("tr.offer-row")).to_have_count(50)
    first = page.locator(".offer-row").first.get_attribute("id")
    page.get_by_role("link", name="Next page").click()
    expect(page.locator("tr.offer-row")).to_have_count(30)
    page.get_by_role("link", name="Previous page").click()
    expect(page.locator("tr.offer-row")).to_have_count(50)
    expect(page.locator(".offer-row").first).to_have_attribute("id", first or "none")
    assert _is_same_document(page)


def test_compare_from_the_rows(site: Site, world: World) -> None:
    page = _market(site)
    for host in ("lab-03", "attic", "hpc-a1"):
        button = page.locator("tr", has_text=host).locator(".pick-button")
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#compare-tray li")).to_have_count(3)
    page.check("input[name=region][value=nordics]")
    expect(page.locator("tr.offer-row")).to_have_count(1)
    expect(page.locator(".pick-button")).to_have_attribute("aria-pressed", "true")
    page.locator("#compare-tray li", has_text="A100").get_by_role("button").click()
    expect(page.locator("#compare-tray li")).to_have_count(2)
    page.get_by_role("link", name="Compare 2 offers").click()
    expect(page.locator("h1")).to_have_text("Compare offers")
    expect(page.locator("table.compare thead td .offer-name")).to_have_text(["RTX 4090", "RTX 2080 Ti"])
    page.locator("label.segment", has_text="2").click()
    expect(page.locator("table.compare tbody tr").nth(1)).to_contain_text("$0.92")
    expect(page).to_have_url(re.compile("gpu_count=2"))
    other = site.open()
    other.goto(page.url)
    expect(other.locator("table.compare tbody tr").nth(1)).to_contain_text("$0.92")
    page.get_by_role("button", name="Remove RTX 2080 Ti from the comparison").click()
    expect(page.locator("table.compare thead td .offer-name")).to_have_text(["RTX 4090"])


def test_offer_page_follows_count_and_disk(site: Site, world: World) -> None:
    page = _market(site, f"/offers/{public_id('offr', world.offer_of('lab-03').pk)}")
    page.locator("label.segment", has_text="2").first.click()
    expect(page.locator(".rent-bill")).to_contain_text("$0.92/hr for 2 GPUs")
    page.fill("#f-data-disk", "1050")
    expect(page.locator(".rent-bill")).to_contain_text("$0.93/hr for 2 GPUs")
    expect(page.locator("#f-data-disk")).to_be_focused()
    assert _is_same_document(page)
    expect(page).to_have_url(re.compile("data_disk_gb=1050"))


def test_searches_are_saved_run_and_deleted(site: Site, world: World) -> None:
    page = site.sign_in("alice@example.com")
    page.goto("/market?region=Shanghai")
    page.locator("#saved-searches summary").click()
    page.fill("#save-name", "Shanghai boxes")
    page.locator("#saved-list").get_by_role("button", name="Save").click()
    expect(page.locator("#saved-list")).to_contain_text("region=Shanghai")
    page.goto("/market")
    page.locator("#saved-searches summary").click()
    page.get_by_role("link", name="Shanghai boxes").click()
    expect(page.locator("tr.offer-row")).to_have_count(2)
    page.locator("#saved-searches summary").click()
    page.get_by_role("button", name="Delete Shanghai boxes").click()
    expect(page.locator("#saved-list")).to_contain_text("No saved searches yet.")


def test_wait_list_opens_with_the_search(site: Site, world: World) -> None:
    page = site.sign_in("alice@example.com")
    page.goto("/market?region=Shanghai&gpu_model=h100-sxm")
    page.locator(".results-tools").get_by_role("button", name="Join the waitlist").click()
    expect(page.locator("#watch-q")).to_have_value("gpu=h100-sxm region=Shanghai")
    page.keyboard.press("Escape")
    expect(page.locator("#watch")).to_be_hidden()


def test_help_of_the_line_opens_and_its_examples_work(site: Site, world: World) -> None:
    page = _market(site)
    page.get_by_role("button", name="Search syntax").click()
    expect(page.locator("#grammar")).to_be_visible()
    page.locator("#grammar td a").nth(2).click()
    expect(page.locator("#q")).to_have_value("vram>=24 price<0.5")


def test_phone_has_every_filter(site: Site, world: World) -> None:
    page = _market(site, viewport=PHONE)
    expect(page.locator("#filter-panel")).to_be_hidden()
    page.get_by_role("button", name="Filters").click()
    page.check("input[name=region][value=Shanghai]")
    expect(page.locator("#filter-panel")).to_be_visible()
    page.get_by_role("button", name="Show 2 offers").click()
    expect(page.locator("#filter-panel")).to_be_hidden()
    expect(page.locator("tr.offer-row")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_home_search_leads_to_the_market(site: Site, world: World) -> None:
    page = site.open()
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type("a100")
    page.keyboard.press("Enter")
    expect(page.locator("tr.offer-row")).to_have_count(2)
    expect(page.locator("input[name=gpu_model][value=a100]")).to_be_checked()
