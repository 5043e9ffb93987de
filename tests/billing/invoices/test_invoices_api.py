"""Coupons, orders and invoices through the API."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.constants import SCOPES
from accounts.models import User
from accounts.tokens.services import issue_token
from billing.invoices.invoices import issue_invoice
from billing.models import Coupon, Invoice
from common import clock
from common.ids import public_id
from tests.billing.coupon_money import UNIT, Run, make_code
from tests.billing.money import grant

pytestmark = pytest.mark.django_db


class Api:
    """A renter's requests."""

    def __init__(self, user: User) -> None:
        _token, text = issue_token(user=user, name="x", scopes=list(SCOPES))
        self._client, self._token = Client(), {"Authorization": f"Bearer {text}"}

    def get(self, path: str, **params: Any) -> Any:
        return self._client.get(f"/api/v1{path}", params, headers=self._token)

    def redeem(self, code: str, *, key: str = "", query: str = "") -> Any:
        headers = self._token | ({"Idempotency-Key": key} if key else {})
        return self._client.post(
            f"/api/v1/coupons/redeem{query}", {"code": code}, content_type="application/json", headers=headers
        )


@pytest.fixture
def api(alice: User) -> Api:
    return Api(alice)


def test_redeem_once_and_repeat_the_reply(api: Api, alice: User) -> None:
    make_code("TEN", 10, per_user=5, modes=["hourly"], valid_days=3)
    first, again = api.redeem("ten", key="k"), api.redeem("ten", key="k")
    assert (first.status_code, again.content) == (201, first.content)
    shown = first.json()
    assert (shown["code"], shown["state"], shown["remaining"], shown["modes"]) == ("TEN", "ready", "10.00", ["hourly"])
    assert Coupon.objects.count() == 1
    assert api.get("/coupons").json()["results"] == [shown]
    (order,) = api.get("/orders", kind="coupon").json()["results"]
    assert (order["title"], order["amount"], order["source_id"]) == ("TEN: 10.00", "0.00", shown["id"])
    assert api.get("/orders", kind="rent").json()["results"] == []


def test_a_dry_run_redeems_nothing(api: Api) -> None:
    make_code("TEN", 10)
    reply = api.redeem("TEN", query="?dry_run=true")
    assert (reply.status_code, reply.json()["remaining"]) == (200, "10.00")
    assert not Coupon.objects.exists()


def test_refusals_have_codes(api: Api) -> None:
    make_code("ONE", 1)
    api.redeem("ONE")
    assert (api.redeem("ONE").status_code, api.redeem("ONE").json()["code"]) == (409, "coupon_redeemed")
    assert (api.redeem("NONE").status_code, api.redeem("NONE").json()["code"]) == (404, "coupon_unknown")
    assert api.redeem("").status_code == 400


def test_invoices(api: Api, alice: User, hana: User, mallory: User) -> None:
    now = clock.now()
    grant(alice, 50 * UNIT)
    Run(alice, hana).start(now - timedelta(hours=2)).stop_at(now - timedelta(minutes=80))
    begin = datetime(now.year, now.month, 1, tzinfo=UTC) - timedelta(days=1)
    paper = issue_invoice(owner_id=alice.pk, begin=begin, end=now + timedelta(days=1))
    assert paper is not None
    (row,) = api.get("/invoices").json()["results"]
    assert (row["number"], row["total"], row["tax"], row["corrects"]) == (paper.full_number, "2.40", "0.00", None)
    one = api.get(f"/invoices/{row['id']}").json()
    (line,) = one["lines"]
    assert (line["seconds"], line["rate"], line["rate_hours"], line["amount"]) == (2400.0, "3.60", 1, "2.40")
    assert one["buyer"]["email"] == alice.email
    file = api.get(f"/invoices/{row['id']}.pdf", language="zh-hans")
    assert (file.status_code, file["Content-Type"], file.content[:5]) == (200, "application/pdf", b"%PDF-")
    assert api.get(f"/invoices/{row['id']}.pdf", language="fr").status_code == 400
    assert Api(mallory).get(f"/invoices/{row['id']}").status_code == 404
    assert Api(mallory).get("/invoices").json()["results"] == []
    assert Invoice.objects.count() == 1


def test_orders_of_something_that_is_none(api: Api, alice: User) -> None:
    assert api.get("/orders", source="offr_x").status_code == 400
    assert api.get("/orders", source=public_id("inst", alice.pk)).json()["results"] == []
    assert api.get("/orders", since="yesterday").status_code == 400
