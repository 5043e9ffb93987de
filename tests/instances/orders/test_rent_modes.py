"""The rent page: choices of the address, the price in every mode with the disk, and an order in each of them."""

from datetime import timedelta

import pytest
from django.test import Client

from accounts.models import User
from common.ids import public_id
from instances.models import Instance, Term
from instances.spot.market_tick import tick_all
from marketplace.hosts.offers import ListingChange, set_prices
from tests.billing.money import UNIT, grant
from tests.instances.fake_host import FakeHost, reload
from tests.instances.modes import balance

HTMX = {"HX-Request": "true"}


@pytest.fixture
def page(client: Client, rin: User) -> Client:
    grant(rin, 100_000 * UNIT)
    client.force_login(rin)
    return client


@pytest.fixture
def path(host: FakeHost) -> str:
    change = ListingChange(
        host.offer.pk,
        reserved_discounts={"month": 2_000, "year": 5_000},
        spot_floor_micros=1_000_000,
        disk_micros_gb_day=240_000,
    )
    set_prices(actor_id=host.owner.pk, change=change)
    return f"/offers/{public_id('offr', host.offer.pk)}/rent"


def bill(page: Client, path: str, **choices: str) -> str:
    form = {"gpu_count": "2", "image": "berth-base", "data_disk_gb": "50", "hours": "24", **choices}
    return page.post(f"{path}/quote", form, headers=HTMX).content.decode()


def quoted_in(text: str) -> str:
    return text.split('name="quote_id" value="')[1].split('"', maxsplit=1)[0]


def order(page: Client, path: str, **choices: str) -> Instance:
    quote_id = quoted_in(bill(page, path, **choices))
    form = {"gpu_count": "2", "image": "berth-base", "data_disk_gb": "50", "hours": "24", **choices}
    reply = page.post(path, {**form, "quote_id": quote_id})
    assert reply.status_code == 302, reply.content.decode()
    return Instance.objects.latest("created_at")


def test_count_and_disk_move_the_price(page: Client, path: str) -> None:
    text = bill(page, path)
    assert "$7.20" in text
    assert "Confirm and rent" in text
    text = bill(page, path, gpu_count="1", data_disk_gb="100")
    assert "$4.10" in text  # 3.60 + 50 GB × 0.24 ÷ 24
    assert "Data disk above the free" in text
    assert "billed daily, running or stopped" in text
    assert "Confirm and rent" in text


def test_other_modes_are_shown_to_compare(page: Client, path: str) -> None:
    text = bill(page, path)
    assert "Other billing modes" in text
    for label, rate in (
        ("Tiered", "$7.20"),
        ("Reserved, 1 month", "$5.76"),
        ("Reserved, 1 year", "$3.60"),
        ("Spot", "$2.00"),
    ):
        assert label in text
        assert rate in text
    assert "6.12 after 720 h" in text
    assert "Reserved, 1 week" not in text
    assert "/calculator?offer=offr_" in text


def test_the_addresss_choices(page: Client, path: str) -> None:
    text = page.get(f"{path}?gpu_count=4&data_disk_gb=77&billing_mode=reserved&term=year").content.decode()
    assert 'value="77" checked' in text
    assert 'name="gpu_count" value="4" checked' in text
    assert 'name="billing_mode" value="reserved" checked' in text
    assert 'name="term" value="year" checked' in text
    text = page.get(f"{path}?billing_mode=spot&max_price=1.25&payment=none").content.decode()
    assert 'name="billing_mode" value="spot" checked' in text
    assert 'value="1.25"' in text
    senseless = ("?data_disk_gb=x&gpu_count=-1", "?data_disk_gb=99999999999999999999", "?image=", "?data_disk_gb=²")
    for query in (*senseless, "?billing_mode=barter&term=decade"):
        assert page.get(path + query).status_code == 200
    assert 'name="billing_mode" value="hourly" checked' in page.get(f"{path}?billing_mode=barter").content.decode()


def test_a_term_paid_upfront(page: Client, rin: User, path: str) -> None:
    before = balance(rin)
    text = bill(page, path, billing_mode="reserved", term="month", payment="upfront")
    assert "Charged now" in text
    assert "Pay $4,147.20 and rent" in text  # 2 GPUs × 720 h × 2.88
    rented = order(page, path, billing_mode="reserved", term="month", payment="upfront", auto_renew="1")
    term = Term.objects.get(instance=rented)
    assert (term.auto_renew, before - balance(rin)) == (True, 4_147_200_000)
    shown = page.get(f"/instances/{public_id('inst', rented.pk)}").content.decode()
    assert "starts with the next run" in shown


def test_a_term_paid_hour_by_hour(page: Client, rin: User, path: str) -> None:
    text = bill(page, path, billing_mode="reserved", term="month", payment="none")
    assert ">Hold<" in text
    assert "$4,147.20 in total" in text
    order(page, path, billing_mode="reserved", term="month", payment="none")
    assert Term.objects.get().payment == "none"


def test_tiered_and_its_next_step(page: Client, host: FakeHost, path: str) -> None:
    rented = order(page, path, billing_mode="tiered")
    host.settle()
    shown = page.get(f"/instances/{public_id('inst', rented.pk)}").content.decode()
    assert "$6.12/hr in 720.0 h" in shown
    assert "Stop and keep GPUs" in shown
    assert "$6.12" in page.get("/instances").content.decode()


def test_a_bid(page: Client, host: FakeHost, path: str) -> None:
    text = bill(page, path, billing_mode="spot", max_price="1.5")
    assert "We hold one hour at your max price" in text
    rented = order(page, path, billing_mode="spot", max_price="1.5")
    assert reload(rented).state == "waiting"
    tick_all()
    host.settle()
    assert reload(rented).state == "running"
    assert "Confirm and rent" not in bill(page, path, billing_mode="spot", max_price="0.5")


def test_a_wrong_price_is_said(page: Client, path: str) -> None:
    text = bill(page, path, billing_mode="spot", max_price="much")
    assert 'role="alert"' in text
    assert "Confirm and rent" not in text


def test_a_disk_that_costs(page: Client, host: FakeHost, path: str) -> None:
    rented = order(page, path, data_disk_gb="100")
    host.settle()
    shown = page.get(f"/instances/{public_id('inst', rented.pk)}").content.decode()
    assert "$12.00" in shown  # 50 GB × 0.24 a day
    assert reload(rented).disk_micros_per_day == 12 * UNIT


# -- changes in place


@pytest.fixture
def running(page: Client, host: FakeHost, path: str) -> Instance:
    rented = order(page, path)
    host.settle()
    return reload(rented)


def change(page: Client, instance: Instance, **choices: str) -> tuple[str, int]:
    address = f"/instances/{public_id('inst', instance.pk)}/change"
    text = page.post(f"{address}/quote", choices, headers=HTMX).content.decode()
    reply = page.post(address, {**choices, "quote_id": quoted_in(text)})
    return text, reply.status_code


def test_the_change_page(page: Client, host: FakeHost, running: Instance) -> None:
    address = f"/instances/{public_id('inst', running.pk)}/change"
    text = page.get(address).content.decode()
    assert 'value="tiered"' in text
    assert 'value="reserved"' in text
    assert 'name="billing_mode" value="spot"' not in text
    text, status = change(page, running, billing_mode="reserved", term="month", payment="upfront")
    assert ("Charged now" in text, status) == (True, 302)
    host.sync()
    assert reload(running).billing_mode == "reserved"
    shown = page.get(f"/instances/{public_id('inst', running.pk)}").content.decode()
    assert "Reserved until" in shown
    assert "Renew now" in shown
    page.post(f"/instances/{public_id('inst', running.pk)}/auto-renew", {"auto_renew": "1"})
    assert Term.objects.get().auto_renew is True
    text, status = change(page, running, billing_mode="reserved", term="month", payment="upfront")
    assert ("starts when the current one ends" in text, status) == (True, 302)
    assert Term.objects.filter(instance=running).count() == 2
    text, status = change(page, running, billing_mode="hourly")
    assert ("refunded to your wallet" in text, status) == (True, 302)
    assert reload(running).billing_mode == "hourly"


def test_stop_and_keep_the_gpus(page: Client, host: FakeHost, running: Instance) -> None:
    address = f"/instances/{public_id('inst', running.pk)}"
    page.post(f"{address}/stop", {"hold": "1"})
    host.settle()
    shown = page.get(address).content.decode()
    assert "Stopped; GPUs kept" in shown
    assert "Release GPUs" in shown
    page.post(f"{address}/stop")
    kept = reload(running)
    assert (kept.holds_gpus, kept.release_at is not None) == (False, True)
    assert kept.release_at is not None
    assert kept.stopped_at is not None
    assert kept.release_at - kept.stopped_at == timedelta(days=30)


def test_a_change_of_somebody_elses(page: Client, client: Client, bob: User, running: Instance) -> None:
    address = f"/instances/{public_id('inst', running.pk)}/change"
    client.force_login(bob)
    assert client.get(address).status_code == 404
    assert client.post(f"{address}/quote", {"billing_mode": "tiered"}).status_code == 404
