"""Prices over the API: the public history, and a listing changed in every mode."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from accounts.tokens.services import issue_token
from common import clock
from common.ids import public_id
from marketplace.hosts.offers import set_price
from marketplace.models import Host, Offer
from tests.marketplace.shapes import PRICE, leased, offer_of


@pytest.fixture
def api(hana: User) -> Client:
    _, text = issue_token(user=hana, name="test", scopes=["hosts:read", "hosts:write"])
    return Client(headers={"authorization": f"Bearer {text}"})


def patch(client: Client, host: Host, body: dict[str, Any]) -> Any:
    return client.patch(f"/api/v1/hosts/{public_id('host', host.pk)}/listing", body, content_type="application/json")


def test_history_is_public(client: Client, hana: User, offer: Offer) -> None:
    set_price(actor_id=hana.pk, offer_id=offer.pk, price_micros=PRICE // 2)
    reply = client.get(f"/api/v1/offers/{public_id('offr', offer.pk)}/prices")
    assert reply.status_code == 200
    body = reply.json()
    today = clock.now().date().isoformat()
    assert body["days"] == [{"date": today, "low": "1.00", "high": "2.00", "last": "1.00"}]
    assert [(change["hourly"], change["spot_floor"]) for change in body["changes"]] == [("2.00", None), ("1.00", None)]
    assert body["currency"] == "USD"


@pytest.mark.parametrize(("query", "status"), [("?days=1", 200), ("?days=90", 200), ("?days=91", 400), ("?days=x", 400)])
def test_how_far_back(client: Client, offer: Offer, query: str, status: int) -> None:
    assert client.get(f"/api/v1/offers/{public_id('offr', offer.pk)}/prices{query}").status_code == status


def test_history_of_none(client: Client, db: None) -> None:
    assert client.get("/api/v1/offers/offr_" + "0" * 32 + "/prices").status_code == 404
    assert client.get("/api/v1/offers/x/prices").status_code == 404


def test_a_listing_in_every_mode(api: Client, host: Host, offer: Offer) -> None:
    end = clock.now().replace(microsecond=0) + timedelta(days=90)
    prices: dict[str, Any] = {
        "reserved_discounts": {"month": "0.2", "year": "0.45"},
        "tiers": [{"from_hours": 100, "discount": "0.05"}, {"from_hours": 720, "discount": "0.15"}],
        "spot_floor": "0.80",
        "disk_gb_day": "0.0025",
        "hold_share": "0.35",
    }
    body = {"offers": [{"id": public_id("offr", offer.pk), **prices}], "listed_until": end.isoformat()}
    reply = patch(api, host, body)
    assert reply.status_code == 200, reply.content
    [own] = reply.json()["offers"]
    terms = {"day": None, "week": None, "month": "0.2", "year": "0.45", "year3": None}
    assert {name: own[name] for name in prices} == {**prices, "reserved_discounts": terms}
    assert own["version"] == offer.version + 1
    assert offer_of(host).listed_until == end
    # What is left out stays; null ends a term, the spot market, the planned end.
    off = {"id": own["id"], "reserved_discounts": {"month": None}, "spot_floor": None}
    reply = patch(api, host, {"offers": [off], "listed_until": None})
    [own] = reply.json()["offers"]
    assert (own["reserved_discounts"]["month"], own["reserved_discounts"]["year"], own["spot_floor"]) == (None, "0.45", None)
    assert own["tiers"] == prices["tiers"]
    assert reply.json()["listed_until"] is None
    shown = Client().get(f"/api/v1/offers/{own['id']}").json()["prices"]
    assert shown["reserved"]["year"] == "1.10"
    assert shown["hold_hourly"] == "0.70"


@pytest.mark.parametrize(
    "wrong",
    [
        {"reserved_discounts": {"month": "0.91"}},
        {"reserved_discounts": {"month": "20"}},
        {"reserved_discounts": {"month": "0.12345"}},
        {"reserved_discounts": []},
        {"tiers": [{"from_hours": 720, "discount": "0"}]},
        {"tiers": [{"from_hours": 0, "discount": "0.1"}]},
        {"tiers": [{"from_hours": 720}]},
        {"tiers": [{"from_hours": 9, "discount": "0.2"}, {"from_hours": 10, "discount": "0.1"}]},
        {"spot_floor": "2.01"},
        {"spot_floor": "-1"},
        {"disk_gb_day": "cheap"},
        {"hold_share": "1.01"},
        {"hold_share": "-0.1"},
        {"hold_share": "35"},
        {"hold_share": None},
    ],
)
def test_wrong_prices(api: Client, host: Host, offer: Offer, wrong: dict[str, Any]) -> None:
    reply = patch(api, host, {"offers": [{"id": public_id("offr", offer.pk), **wrong}]})
    assert (reply.status_code, reply.headers["Content-Type"]) == (400, "application/problem+json")
    assert offer_of(host).version == offer.version


def test_an_end_that_breaks_a_promise(api: Client, host: Host, offer: Offer) -> None:
    end = clock.now() + timedelta(days=9)
    assert patch(api, host, {"listed_until": end.isoformat()}).status_code == 200
    leased(offer_of(host))
    reply = patch(api, host, {"listed_until": (end - timedelta(days=1)).isoformat()})
    assert reply.status_code == 400
    assert [error["field"] for error in reply.json()["errors"]] == ["listed_until"]
    assert patch(api, host, {"listed_until": "2020-01-01T00:00:00Z"}).status_code == 400
    assert patch(api, host, {"listed_until": "soon"}).status_code == 400
