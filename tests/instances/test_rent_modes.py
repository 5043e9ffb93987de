"""The rent page: choices of the address, the price with the disk, other modes to compare and none of them orderable."""

import pytest
from django.test import Client

from accounts.models import User
from common.ids import public_id
from instances.models import Instance, Quote
from marketplace.services.offers import ListingChange, set_prices
from tests.instances.fake_host import FakeHost

HTMX = {"HX-Request": "true"}


@pytest.fixture
def page(client: Client, rin: User) -> Client:
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


def test_count_and_disk_move_the_price(page: Client, path: str) -> None:
    text = bill(page, path)
    assert "$7.20" in text
    assert "Confirm and rent" in text
    text = bill(page, path, gpu_count="1", data_disk_gb="100")
    assert "$4.10" in text  # 3.60 + 50 GB × 0.24 ÷ 24
    assert "Data disk above the free quota" in text
    assert "This disk is not sold yet" in text
    assert "Confirm and rent" not in text


def test_other_modes_are_shown_to_compare(page: Client, path: str) -> None:
    text = bill(page, path)
    assert "Other ways to pay" in text
    for label, rate in (
        ("Tiered", "$7.20"),
        ("Reserved, 1 month", "$5.76"),
        ("Reserved, 1 year", "$3.60"),
        ("Spot", "$2.00"),
    ):
        assert label in text
        assert rate in text
    assert "6.12 from 720 h on" in text
    assert "Reserved, 1 week" not in text
    assert "/calculator?offer=offr_" in text


def test_the_addresss_choices(page: Client, path: str) -> None:
    text = page.get(f"{path}?gpu_count=4&data_disk_gb=77&billing_mode=hourly").content.decode()
    assert 'value="77" checked' in text
    assert 'name="gpu_count" value="4" checked' in text
    assert "cannot be ordered yet" not in text
    for senseless in ("?data_disk_gb=x&gpu_count=-1", "?data_disk_gb=99999999999999999999", "?image=", "?data_disk_gb=²"):
        assert page.get(path + senseless).status_code == 200


@pytest.mark.parametrize("mode", ["reserved", "tiered", "spot"])
def test_a_mode_of_the_address_that_cannot_be_ordered_is_said(page: Client, path: str, mode: str) -> None:
    assert "cannot be ordered yet" in page.get(f"{path}?billing_mode={mode}").content.decode()


def test_a_quote_for_comparing_is_refused_in_words(page: Client, rin: User, host: FakeHost, path: str) -> None:
    bill(page, path, data_disk_gb="100")
    quote = Quote.objects.get()
    form = {"gpu_count": "2", "image": "berth-base", "data_disk_gb": "100", "hours": "24"}
    reply = page.post(path, {**form, "quote_id": public_id("quot", quote.pk)})
    assert reply.status_code == 409
    assert "This can be compared but not ordered yet." in reply.content.decode()
    assert not Instance.objects.exists()
