"""Pages of coupons, orders, invoices and the address: their figures, and nobody else's."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.test import Client

from accounts.models import User
from billing.invoices.invoices import issue_invoices
from billing.models import BillingAddress, Coupon, Invoice
from common.ids import public_id
from tests.billing.coupon_money import BEGIN, UNIT, Run, at, make_code, make_percent, redeem
from tests.billing.money import grant
from tests.billing.pdf_text import text_of

pytestmark = pytest.mark.django_db

PAGES = ("/wallet/coupons", "/wallet/orders", "/wallet/invoices", "/wallet/billing-address", "/wallet/statement")
AFTER = datetime(2026, 11, 1, 6, tzinfo=UTC)


@pytest.fixture(autouse=True)
def morning() -> Iterator[Any]:
    with time_machine.travel(BEGIN, tick=False) as clock:
        yield clock


@pytest.fixture
def invoice(alice: User, hana: User, morning: Any) -> Invoice:
    grant(alice, 50 * UNIT)
    redeem(alice, 1, modes=["hourly"], gpu_models=["rtx-4090"])
    Run(alice, hana).start().stop_at(at(minutes=40))
    morning.move_to(AFTER)
    issue_invoices(now=AFTER)
    return Invoice.objects.get()


def page(client: Client, path: str, **params: str) -> str:
    return client.get(path, params).content.decode()


@pytest.mark.parametrize("path", PAGES)
def test_strangers_are_sent_to_sign_in_and_empty_pages_open(client: Client, alice: User, path: str) -> None:
    assert client.get(path)["Location"].startswith("/accounts/login/")
    client.force_login(alice)
    assert client.get(path).status_code == 200


def test_redeeming_on_the_page(client: Client, alice: User) -> None:
    make_code("WELCOME-10", 10, modes=["spot"], valid_days=2)
    client.force_login(alice)
    assert client.post("/wallet/coupons", {"code": "welcome-10"}).status_code == 302
    text = page(client, "/wallet/coupons")
    for words in ("WELCOME-10", "$10.00", "spot", "in 2 d"):
        assert words in text
    again = client.post("/wallet/coupons", {"code": "WELCOME-10"})
    assert again.status_code == 409
    assert "You already redeemed this code" in again.content.decode()
    assert client.post("/wallet/coupons", {"code": "NOPE"}).status_code == 404
    assert "WELCOME-10: 10.00" in page(client, "/wallet/orders", kind="coupon")
    assert "WELCOME-10" not in page(client, "/wallet/orders", kind="rent")


def test_the_wallet_tells_of_coupons(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert "in coupons" not in page(client, "/wallet")
    redeem(alice, 7)
    assert "and $7.00 in coupons" in page(client, "/wallet")


def test_a_waiting_percent_coupon_says_what_it_will_give(client: Client, alice: User) -> None:
    make_percent("MORE", 1_250, most_micros=15 * UNIT)
    client.force_login(alice)
    client.post("/wallet/coupons", {"code": "MORE"})
    text = page(client, "/wallet/coupons")
    assert "12.5%" in text
    assert "of your next top-up, at most $15.00" in text


def test_a_used_coupon_shows_what_it_paid_for(client: Client, alice: User, invoice: Invoice) -> None:
    client.force_login(alice)
    text = page(client, "/wallet/coupons")
    assert "used up" in text
    assert f"/instances/{public_id('inst', Coupon.objects.get().draws.get().source_id)}" in text
    assert "RTX 4090" in text


def test_invoice_pages_and_file(client: Client, alice: User, invoice: Invoice) -> None:
    """40 min at 3.60: 2.40, of which 1.00 by coupon."""
    client.force_login(alice)
    assert invoice.full_number in page(client, "/wallet/invoices")
    address = f"/wallet/invoices/{public_id('invc', invoice.pk)}"
    text = page(client, address)
    for words in ("1 × RTX 4090", "2400", "$3.60", "$2.40", "$1.00", "$1.40"):
        assert words in text, words
    reply = client.get(f"{address}/pdf")
    assert (reply["Content-Type"], invoice.full_number in reply["Content-Disposition"]) == ("application/pdf", True)
    assert "2.40 USD" in text_of(reply.content)


def test_nobody_sees_anothers_papers(client: Client, mallory: User, invoice: Invoice) -> None:
    client.force_login(mallory)
    address = f"/wallet/invoices/{public_id('invc', invoice.pk)}"
    assert client.get(address).status_code == 404
    assert client.get(f"{address}/pdf").status_code == 404
    for path in PAGES:
        assert invoice.full_number not in page(client, path)


def test_the_address_is_kept_and_checked(client: Client, alice: User) -> None:
    client.force_login(alice)
    wrong = client.post("/wallet/billing-address", {"name": "", "country": "Germany"})
    assert wrong.status_code == 200
    assert not BillingAddress.objects.exists()
    form = {"name": "Example AG", "address": "Weg 1", "country": "de", "tax_id": "DE9"}
    assert client.post("/wallet/billing-address", form)["Location"] == "/wallet/invoices"
    assert BillingAddress.objects.get().country == "DE"
    assert "Addressed to Example AG." in page(client, "/wallet/invoices")


def test_wrong_order_filters_are_told(client: Client, alice: User) -> None:
    client.force_login(alice)
    for params in ({"kind": "x"}, {"day_from": "x"}, {"instance": "x"}, {"day_to": "2026-10-05", "billing_mode": "spot"}):
        assert client.get("/wallet/orders", params).status_code == 200


def test_pages_in_chinese(client: Client, alice: User, invoice: Invoice) -> None:
    client.force_login(alice)
    for path in (*PAGES, f"/wallet/invoices/{public_id('invc', invoice.pk)}"):
        assert client.get(path, headers={"Accept-Language": "zh-hans"}).status_code == 200
