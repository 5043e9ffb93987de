"""Quotes and orders of every mode over the API: shapes, signatures, and refusals that say what differs."""

from typing import Any

import pytest
from django.test import Client

from accounts.constants import SCOPES
from accounts.models import User
from accounts.tokens.services import issue_token
from instances.models import Instance, Quote
from marketplace.hosts.offers import ListingChange, set_prices
from tests.billing.money import UNIT, grant
from tests.instances.fake_host import FakeHost


@pytest.fixture
def api(rin: User) -> Client:
    _, text = issue_token(user=rin, name="test", scopes=list(SCOPES))
    return Client(headers={"authorization": f"Bearer {text}"})


@pytest.fixture
def seller(host: FakeHost) -> FakeHost:
    change = ListingChange(
        host.offer.pk, reserved_discounts={"year": 5_000}, spot_floor_micros=1_000_000, disk_micros_gb_day=3_000
    )
    set_prices(actor_id=host.owner.pk, change=change)
    return host


def post(client: Client, path: str, body: dict[str, Any]) -> Any:
    return client.post(f"/api/v1/{path}", body, content_type="application/json")


def quoted(api: Client, host: FakeHost, **wishes: Any) -> Any:
    return post(api, "quotes", {"offer": f"offr_{host.offer.pk.hex}", "image": "berth-base", **wishes})


def test_shapes_of_every_mode(api: Client, seller: FakeHost) -> None:
    hourly = quoted(api, seller, term=None, payment=None, max_price=None, hours=None).json()
    assert (hourly["term"], hourly["payment"], hourly["max_price"], hourly["commitment_total"]) == (None, None, None, None)
    assert (hourly["hours"], hourly["instance"], len(hourly["signature"])) == (1, None, 64)
    reserved = quoted(api, seller, billing_mode="reserved", term="year", payment="none", hours=24).json()
    assert (reserved["hourly_rate"], reserved["due_now"], reserved["projected_total"]) == ("1.80", "131.40", "43.20")
    assert (reserved["commitment_total"], reserved["payment"]) == ("15768.00", "none")
    assert (reserved["deposit"], hourly["deposit"], reserved["pays_host"]) == ("129.60", "0.00", "all")
    spot = quoted(api, seller, billing_mode="spot", max_price="1.5", gpu_count=2).json()
    assert (spot["hourly_rate"], spot["due_now"], spot["max_price"]) == ("2.00", "3.00", "1.50")
    tiered = quoted(api, seller, billing_mode="tiered", hours=1000).json()
    assert tiered["projected_total"] == "3448.80"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"billing_mode": "spot", "max_price": "0.5"}, "max_price"),
        ({"billing_mode": "spot", "max_price": "much"}, "max_price"),
        ({"billing_mode": "reserved", "term": "day"}, "term"),
        ({"billing_mode": "reserved", "term": "decade"}, "term"),
        ({"billing_mode": "barter"}, "billing_mode"),
    ],
)
def test_wrong_wishes(api: Client, seller: FakeHost, wrong: dict[str, Any], field: str) -> None:
    reply = quoted(api, seller, **wrong)
    assert reply.status_code == 400
    assert [error["field"] for error in reply.json()["errors"]] == [field]


def test_an_order_that_agrees(api: Client, seller: FakeHost) -> None:
    quote = quoted(api, seller, gpu_count=2).json()
    same = {name: quote[name] for name in ("offer", "image", "gpu_count", "billing_mode", "data_disk_gb", "signature")}
    reply = post(api, "instances", {"quote_id": quote["id"], **same, "max_total": "7.20", "term": None})
    assert reply.status_code == 201, reply.content


@pytest.mark.parametrize(
    ("order", "field"),
    [
        ({"gpu_count": 3}, "gpu_count"),
        ({"billing_mode": "tiered"}, "billing_mode"),
        ({"data_disk_gb": 50}, "data_disk_gb"),
        ({"image": "other"}, "image"),
        ({"max_total": "7.19"}, "max_total"),
        ({"signature": "00"}, "signature"),
    ],
)
def test_an_order_that_differs(api: Client, seller: FakeHost, order: dict[str, Any], field: str) -> None:
    quote = quoted(api, seller, gpu_count=2).json()
    reply = post(api, "instances", {"quote_id": quote["id"], **order})
    assert (reply.status_code, reply.json()["code"]) == (409, "quote_mismatch")
    assert [error["field"] for error in reply.json()["errors"]] == [field]
    assert not Instance.objects.exists()
    assert Quote.objects.get(pk=quote["id"].removeprefix("quot_")).used_at is None
    fresh = reply.json()["quote"]
    if field == "image":
        assert fresh is None  # there is no such image
    else:
        wanted = {name: value for name, value in order.items() if name not in ("max_total", "signature")}
        assert fresh["id"] != quote["id"]
        assert {name: fresh[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    "wishes",
    [
        {"billing_mode": "tiered"},
        {"billing_mode": "reserved", "term": "year"},
        {"billing_mode": "spot", "max_price": "2"},
        {"data_disk_gb": 60},
    ],
)
def test_every_mode_can_be_ordered(api: Client, rin: User, seller: FakeHost, wishes: dict[str, Any]) -> None:
    grant(rin, 20_000 * UNIT)
    quote = quoted(api, seller, **wishes).json()
    order = {"quote_id": quote["id"], **{name: value for name, value in wishes.items() if name != "max_price"}}
    assert post(api, "instances?dry_run=true", order).status_code == 200
    assert not Instance.objects.exists()
    made = post(api, "instances", order)
    assert made.status_code == 201, made.content
    billing = made.json()["billing"]
    assert billing["mode"] == wishes.get("billing_mode", "hourly")
    assert billing["disk_daily"] == ("0.03" if "data_disk_gb" in wishes else "0.00")
    assert (billing["term"] is not None) == (billing["mode"] == "reserved")


# -- changes in place


@pytest.fixture
def running(api: Client, rin: User, seller: FakeHost) -> str:
    """Its address."""
    grant(rin, 40_000 * UNIT)
    quote = quoted(api, seller).json()
    made = post(api, "instances", {"quote_id": quote["id"]}).json()
    seller.settle()
    return f"instances/{made['id']}"


def changed(api: Client, running: str, verb: str = "convert", **wishes: Any) -> Any:
    quote = post(api, "quotes", {"instance": running.split("/")[1], **wishes})
    assert quote.status_code == 201, quote.content
    order = {"quote_id": quote.json()["id"], "signature": quote.json()["signature"]}
    assert post(api, f"{running}/{verb}?dry_run=true", order).status_code == 200
    return post(api, f"{running}/{verb}", order)


def test_a_life_of_changes(api: Client, running: str, seller: FakeHost) -> None:
    billing = changed(api, running, billing_mode="tiered").json()["billing"]
    assert (billing["mode"], billing["next_step"]["from_hours"]) == ("tiered", 720)
    billing = changed(api, running, billing_mode="reserved", term="year", payment="upfront").json()["billing"]
    assert (billing["mode"], billing["term"]["total"], billing["hourly_rate"]) == ("reserved", "15768.00", "1.80")
    assert billing["term"]["ends_at"] is not None
    on = post(api, f"{running}/extend", {"auto_renew": True}).json()["billing"]
    assert on["term"]["auto_renew"] is True
    billing = changed(api, running, "extend", billing_mode="reserved", term="year").json()["billing"]
    assert (billing["next_term"]["term"], billing["next_term"]["starts_at"]) == ("year", None)
    post(api, f"{running}/stop", {})
    seller.settle()
    stopped = api.get(f"/api/v1/{running}").json()
    assert (stopped["state"], stopped["billing"]["keeps_gpus"], len(stopped["gpus"])) == ("stopped", True, 1)
    billing = changed(api, running, billing_mode="hourly").json()["billing"]
    assert (billing["mode"], billing["term"], billing["next_term"], billing["keeps_gpus"]) == ("hourly", None, None, False)
    wallet = api.get("/api/v1/wallet").json()
    assert (wallet["balance"], wallet["held"]) == ("41000.00", "0.00"), "nothing was used, so all came back"
    usage = api.get(f"/api/v1/{running}/usage").json()
    assert [line["source_kind"] for line in usage["lines"]] == ["term"] * 4


def test_a_repeated_change_is_made_once(api: Client, running: str) -> None:
    quote = post(api, "quotes", {"instance": running.split("/")[1], "billing_mode": "tiered"}).json()
    for _ in range(2):
        reply = api.post(
            f"/api/v1/{running}/convert",
            {"quote_id": quote["id"]},
            content_type="application/json",
            headers={"Idempotency-Key": "once"},
        )
        assert (reply.status_code, reply.json()["billing"]["mode"]) == (202, "tiered")


def test_stop_and_hold(api: Client, running: str, seller: FakeHost) -> None:
    assert api.get(f"/api/v1/{running}").json()["billing"]["hold_fee"] == "1.80"
    post(api, f"{running}/stop", {"hold": True})
    seller.settle()
    kept = api.get(f"/api/v1/{running}").json()
    assert (kept["billing"]["keeps_gpus"], kept["release_at"], "stop" in kept["actions"]) == (True, None, True)
    assert post(api, f"{running}/stop", {}).json()["billing"]["keeps_gpus"] is False


@pytest.mark.parametrize(
    ("wishes", "status"),
    [
        ({"billing_mode": "spot"}, 409),
        ({"billing_mode": "hourly"}, 409),
        ({"billing_mode": "reserved", "term": "week"}, 400),
        ({"billing_mode": "reserved"}, 400),
    ],
)
def test_changes_that_are_refused(api: Client, running: str, wishes: dict[str, Any], status: int) -> None:
    assert post(api, "quotes", {"instance": running.split("/")[1], **wishes}).status_code == status
    assert post(api, f"{running}/extend", {"auto_renew": True}).status_code == 409
    assert post(api, "quotes", {}).status_code == 400


def test_a_rehearsal_checks_the_order_too(api: Client, seller: FakeHost) -> None:
    quote = quoted(api, seller).json()
    wrong = post(api, "instances?dry_run=true", {"quote_id": quote["id"], "gpu_count": 2})
    assert (wrong.status_code, wrong.json()["code"]) == (409, "quote_mismatch")
    assert post(api, "instances?dry_run=true", {"quote_id": quote["id"], "gpu_count": 1}).status_code == 200
    assert not Instance.objects.exists()
