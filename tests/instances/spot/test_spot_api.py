"""Bids over the API: placed with an order, changed in place, seen with their notice, withdrawn; and the public prices."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from accounts.tokens.services import issue_token
from instances.models import Instance, SpotBid
from instances.spot.market_tick import tick_offer
from marketplace.hosts.offers import ListingChange, set_prices
from tests.billing.money import UNIT, grant
from tests.instances.fake_host import FakeHost
from tests.instances.fixtures import Clock
from tests.instances.spot.bidders import bid, turn, with_spot


def client_of(user: User) -> Client:
    _, text = issue_token(user=user, name="test", scopes=["instances:read", "instances:write"])
    return Client(headers={"authorization": f"Bearer {text}"})


@pytest.fixture
def api(rin: User) -> Client:
    return client_of(rin)


@pytest.fixture
def bo(hours: Clock, bob: User) -> User:
    grant(bob, 1_000 * UNIT)
    return bob


@pytest.fixture
def spot(host: FakeHost) -> FakeHost:
    """Four GPUs, 3.60 by the hour, spot from 0.50."""
    return with_spot(host)


def post(client: Client, path: str, body: dict[str, Any], **headers: str) -> Any:
    return client.post(f"/api/v1/{path}", body, content_type="application/json", headers=headers or None)


def path_of(instance: Instance) -> str:
    return f"instances/inst_{instance.pk.hex}"


def seen(client: Client, instance: Instance) -> Any:
    return client.get(f"/api/v1/{path_of(instance)}").json()["billing"]["spot"]


def prices(client: Client, host: FakeHost, query: str = "") -> Any:
    return client.get(f"/api/v1/offers/offr_{host.offer.pk.hex}/spot-prices{query}")


def test_a_bid_is_ordered_as_any_rent_and_waits_for_the_tick(api: Client, spot: FakeHost) -> None:
    wishes = {"offer": f"offr_{spot.offer.pk.hex}", "image": "berth-base", "billing_mode": "spot", "max_price": "1.2"}
    quote = post(api, "quotes", wishes).json()
    made = post(api, "instances", {"quote_id": quote["id"], "signature": quote["signature"]})
    assert made.status_code == 201, made.content
    body = made.json()
    assert (body["state"], body["billing"]["mode"]) == ("waiting", "spot")
    found = body["billing"]["spot"]
    assert (found["max_price"], found["price"], found["state"], found["yields_at"]) == ("1.20", None, "waiting", None)
    turn(spot)
    body = api.get(f"/api/v1/instances/{body['id']}").json()
    assert (body["state"], body["billing"]["spot"]["price"], body["billing"]["hourly_rate"]) == ("running", "0.50", "0.50")


def test_notice_is_told_with_its_end_and_taken_back_by_a_higher_maximum(
    api: Client, rin: User, bo: User, spot: FakeHost, hours: Clock
) -> None:
    mine = bid(rin, spot, 1.00, gpus=4)
    hours.advance(minutes=10)
    bid(bo, spot, 2.00, gpus=4)
    found = seen(api, mine)
    assert (found["state"], found["notice_at"], found["yields_at"]) == (
        "notice",
        "2025-03-01T09:40:00.123457Z",
        "2025-03-01T09:42:00.123457Z",
    )
    assert post(api, f"{path_of(mine)}/bid", {"max_price": "3"}).status_code == 200
    turn(spot)
    found = seen(api, mine)
    assert (found["state"], found["max_price"], found["price"], found["yields_at"]) == ("holding", "3.00", "2.00", None)


def test_a_rehearsal_changes_nothing_and_a_repetition_changes_once(api: Client, rin: User, spot: FakeHost) -> None:
    mine = bid(rin, spot, 1.00)
    path = f"{path_of(mine)}/bid"
    assert post(api, f"{path}?dry_run=true", {"max_price": "2"}).status_code == 200
    assert seen(api, mine)["max_price"] == "1.00"
    replies = [post(api, path, {"max_price": "2"}, **{"Idempotency-Key": "once"}) for _ in range(2)]
    assert [(each.status_code, each.json()["billing"]["spot"]["max_price"]) for each in replies] == [(200, "2.00")] * 2
    other = post(api, path, {"max_price": "4"}, **{"Idempotency-Key": "once"})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_conflict")
    assert mine.events.filter(kind="bid_changed").count() == 1


@pytest.mark.parametrize(
    ("max_price", "refusal"),
    [
        ("0.49", (400, "invalid_input")),
        ("-1", (400, "invalid_input")),
        ("much", (400, "invalid_input")),
        ("1.0000001", (400, "invalid_input")),
        ("5000", (402, "insufficient_funds")),
        (None, (400, "invalid_input")),
    ],
)
def test_changes_that_are_refused(
    api: Client, rin: User, spot: FakeHost, max_price: str | None, refusal: tuple[int, str]
) -> None:
    mine = bid(rin, spot, 1.00)
    reply = post(api, f"{path_of(mine)}/bid", {"max_price": max_price})
    assert (reply.status_code, reply.json()["code"]) == refusal
    assert SpotBid.objects.get(pk=mine.pk).max_price_micros == UNIT


def test_only_ones_own_and_only_a_spot_rent_has_a_bid(api: Client, rin: User, bo: User, spot: FakeHost) -> None:
    others = bid(bo, spot, 1.00)
    assert post(api, f"{path_of(others)}/bid", {"max_price": "2"}).status_code == 404
    assert api.delete(f"/api/v1/{path_of(others)}/bid").status_code == 404
    quote = post(api, "quotes", {"offer": f"offr_{spot.offer.pk.hex}", "image": "berth-base"}).json()
    hourly = post(api, "instances", {"quote_id": quote["id"]}).json()
    assert hourly["billing"]["spot"] is None
    reply = post(api, f"instances/{hourly['id']}/bid", {"max_price": "2"})
    assert (reply.status_code, reply.json()["code"]) == (409, "unlawful_action")
    reader = issue_token(user=rin, name="reader", scopes=["instances:read"])[1]
    reply = Client(headers={"authorization": f"Bearer {reader}"}).delete(f"/api/v1/instances/{hourly['id']}/bid")
    assert reply.status_code == 403


def test_what_yields_can_be_told_to_stay_stopped(api: Client, rin: User, bo: User, spot: FakeHost, hours: Clock) -> None:
    mine = bid(rin, spot, 1.00, gpus=4)
    reply = api.delete(f"/api/v1/{path_of(mine)}/bid")
    assert (reply.status_code, reply.json()["code"]) == (409, "unlawful_action")
    hours.advance(minutes=10)
    bid(bo, spot, 2.00, gpus=4)
    hours.advance(seconds=120)
    tick_offer(offer_id=spot.offer.pk)  # of which the host has not heard yet
    assert seen(api, mine)["state"] == "yielding"
    replies = [api.delete(f"/api/v1/{path_of(mine)}/bid") for _ in range(2)]
    assert [(each.status_code, each.json()["billing"]["spot"]["state"]) for each in replies] == [(200, "ended")] * 2
    turn(spot)
    assert api.get(f"/api/v1/{path_of(mine)}").json()["state"] == "stopped"


def test_everyone_may_read_the_prices(client: Client, rin: User, bo: User, spot: FakeHost, hours: Clock) -> None:
    before = prices(client, spot).json()
    assert before == {
        "currency": "USD",
        "floor": "0.50",
        "now": "0.50",
        "low_24h": "0.50",
        "high_24h": "0.50",
        "changes": [],
    }
    bid(rin, spot, 2.00, gpus=4)
    hours.advance(minutes=5)
    bid(bo, spot, 1.25, gpus=1)
    after = prices(client, spot, "?days=7").json()
    assert (after["now"], after["low_24h"], after["high_24h"]) == ("1.25", "0.50", "1.25")
    assert [(each["price"], each["supply"], each["demand"]) for each in after["changes"]] == [("0.50", 4, 4), ("1.25", 4, 5)]
    shown = client.get(f"/api/v1/offers/offr_{spot.offer.pk.hex}").json()
    assert (shown["prices"]["spot"], shown["gpu_free"], shown["gpu_spot"]) == ({"floor": "0.50", "now": "1.25"}, 0, 4)
    hours.advance(hours=25)
    later = prices(client, spot, "?days=1").json()
    assert (later["low_24h"], [each["price"] for each in later["changes"]]) == ("1.25", ["1.25"])


def test_prices_where_nothing_is_sold(client: Client, host: FakeHost) -> None:
    assert prices(client, host).json()["floor"] is None
    assert prices(client, host).json()["now"] is None
    assert [prices(client, host, query).status_code for query in ("?days=0", "?days=91", "?days=x")] == [400] * 3
    assert client.get("/api/v1/offers/offr_" + "0" * 32 + "/spot-prices").status_code == 404


def test_a_closed_market_lets_bids_stand_as_they_are(api: Client, rin: User, hana: User, spot: FakeHost) -> None:
    mine = bid(rin, spot, 1.00)
    set_prices(actor_id=hana.pk, change=ListingChange(spot.offer.pk, spot_floor_micros=0))
    turn(spot)
    assert (seen(api, mine)["state"], seen(api, mine)["price"]) == ("holding", "0.50")
    reply = post(api, f"{path_of(mine)}/bid", {"max_price": "2"})
    assert (reply.status_code, reply.json()["code"]) == (409, "unlawful_action")
