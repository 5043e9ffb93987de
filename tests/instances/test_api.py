"""The API as a script meets it: renter, other renter, host owner, stranger; keys, dry runs, problem documents."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from billing.metering.settle import extend_holds, settle_meters
from billing.models import Hold
from common import clock
from instances.models import Instance, Quote
from marketplace.hosts.offers import set_price
from storage.models import Image
from tests.billing.money import UNIT, grant, wallet
from tests.instances.fake_host import FakeHost, Use, by_id, order, order_running
from tests.instances.fixtures import Clock, Sign


@pytest.fixture
def api(rin: User, sign: Sign) -> Client:
    return sign(rin)


@pytest.fixture
def running(rin: User, host: FakeHost) -> Instance:
    return order_running(rin, host)


def post(client: Client, path: str, body: dict[str, Any] | None = None, key: str | None = None) -> Any:
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post(path, body or {}, content_type="application/json", headers=headers)


def wishes(host: FakeHost, **more: Any) -> dict[str, Any]:
    return {"offer": f"offr_{host.offer.pk.hex}", "image": "berth-base", "data_disk_gb": 10, **more}


def quoted(client: Client, host: FakeHost, **more: Any) -> str:
    reply = post(client, "/api/v1/quotes", wishes(host, **more))
    assert reply.status_code == 201, reply.content
    return str(reply.json()["id"])


def code(reply: Any) -> tuple[int, str]:
    assert reply.headers["Content-Type"] == "application/problem+json"
    return reply.status_code, reply.json()["code"]


def path(instance: Instance, rest: str = "") -> str:
    return f"/api/v1/instances/inst_{instance.pk.hex}{rest}"


# -- images and quotes


def test_images_are_public(client: Client, image: Image) -> None:
    (found,) = client.get("/api/v1/images").json()["results"]
    assert (found["slug"], found["id"], found["has_jupyter"]) == ("berth-base", f"img_{image.pk.hex}", True)


def test_a_quote_is_made_and_read_again(api: Client, host: FakeHost) -> None:
    made = post(api, "/api/v1/quotes", wishes(host, gpu_count=2, hours=10))
    assert made.status_code == 201
    body = made.json()
    assert (body["due_now"], body["hourly_rate"], body["projected_total"]) == ("7.20", "7.20", "72.00")
    assert body["lines"][0]["amount"] == "72.00"
    assert api.get(f"/api/v1/quotes/{body['id']}").json() == body


@pytest.mark.parametrize(
    ("wrong", "answer"),
    [
        ({"offer": "offr_x"}, (404, "not_found")),
        ({"image": "none"}, (404, "not_found")),
        ({"gpu_count": 9}, (400, "invalid_input")),
        ({"gpu_count": "many"}, (400, "invalid_input")),
        ({"billing_mode": "spot"}, (400, "invalid_input")),
        ({"data_disk_gb": 999_999}, (400, "disk_too_large")),
    ],
)
def test_wrong_quotes(api: Client, host: FakeHost, wrong: dict[str, Any], answer: tuple[int, str]) -> None:
    assert code(post(api, "/api/v1/quotes", wishes(host, **wrong))) == answer


# -- renting


def test_rent(api: Client, host: FakeHost) -> None:
    made = post(api, "/api/v1/instances", {"quote_id": quoted(api, host), "name": "my box"})
    assert made.status_code == 201
    body = made.json()
    assert (body["state"], body["name"], body["billing"]["cost_so_far"]) == ("requested", "my box", "0.00")
    assert api.get(f"/api/v1/instances/{body['id']}").json() == body
    assert by_id(body["id"]).name == "my box"


def test_a_changed_price_comes_with_a_new_quote(api: Client, host: FakeHost) -> None:
    quote_id = quoted(api, host)
    set_price(actor_id=host.owner.pk, offer_id=host.offer.pk, price_micros=4 * UNIT)
    refusal = post(api, "/api/v1/instances", {"quote_id": quote_id})
    assert code(refusal) == (409, "price_changed")
    new = refusal.json()["quote"]
    assert new["hourly_rate"] == "4.00"
    assert post(api, "/api/v1/instances", {"quote_id": new["id"]}).status_code == 201


def test_an_expired_quote_comes_with_a_new_one(api: Client, host: FakeHost, hours: Clock) -> None:
    quote_id = quoted(api, host)
    hours.advance(minutes=10)
    refusal = post(api, "/api/v1/instances", {"quote_id": quote_id}, key="once")
    assert code(refusal) == (409, "quote_expired")
    new = refusal.json()["quote"]["id"]
    assert post(api, "/api/v1/instances", {"quote_id": new}, key="twice").status_code == 201


def test_refusals(api: Client, bob: User, sign: Sign, host: FakeHost) -> None:
    used = quoted(api, host, gpu_count=4)
    late = quoted(api, host)
    assert post(api, "/api/v1/instances", {"quote_id": used}).status_code == 201
    assert code(post(api, "/api/v1/instances", {"quote_id": used})) == (409, "quote_used")
    assert code(post(api, "/api/v1/instances", {"quote_id": late})) == (409, "gpu_taken")
    assert code(post(sign(bob), "/api/v1/instances", {"quote_id": late})) == (404, "not_found")
    assert code(post(api, "/api/v1/instances", {"quote_id": "quot_1"})) == (404, "not_found")
    assert code(post(api, "/api/v1/instances", {})) == (400, "invalid_input")
    assert code(post(api, "/api/v1/instances", {"quote_id": late, "ssh_key_ids": [f"key_{uuid4().hex}"]})) == (
        404,
        "not_found",
    )


def test_without_money(bob: User, sign: Sign, host: FakeHost) -> None:
    poor = sign(bob)
    refusal = post(poor, "/api/v1/instances", {"quote_id": quoted(poor, host)})
    assert code(refusal) == (402, "insufficient_funds")
    assert refusal.json()["needed"] == "3.60"


def test_fault_009_the_same_key_gives_the_same_reply_and_one_instance(api: Client, host: FakeHost) -> None:
    body = {"quote_id": quoted(api, host), "name": "once"}
    replies = [post(api, "/api/v1/instances", body, key="k") for _ in range(3)]
    assert [reply.status_code for reply in replies] == [201] * 3
    assert len({reply.content for reply in replies}) == 1
    assert Instance.objects.count() == Hold.objects.count() == 1


def test_fault_002_the_same_key_with_another_body(api: Client, host: FakeHost) -> None:
    body = {"quote_id": quoted(api, host), "name": "once"}
    assert post(api, "/api/v1/instances", body, key="k").status_code == 201
    other = post(api, "/api/v1/instances", {**body, "name": "twice"}, key="k")
    assert code(other) == (422, "idempotency_conflict")
    assert Instance.objects.count() == 1


def test_a_dry_run_shows_what_would_be_and_changes_nothing(api: Client, rin: User, host: FakeHost) -> None:
    quote_id = quoted(api, host)
    shown = post(api, "/api/v1/instances?dry_run=true", {"quote_id": quote_id, "name": "perhaps"})
    assert (shown.status_code, shown.json()["name"]) == (200, "perhaps")
    assert not Instance.objects.exists()
    assert wallet(rin).held_micros == 0
    assert Quote.objects.get().used_at is None
    assert post(api, "/api/v1/quotes?dry_run=true", wishes(host)).status_code == 200
    assert Quote.objects.count() == 1


# -- actions


@pytest.mark.parametrize(("action", "state"), [("stop", "stopping"), ("restart", "restarting")])
def test_actions_on_a_running_one(api: Client, running: Instance, action: str, state: str) -> None:
    assert post(api, path(running, f"/{action}?dry_run=true")).json()["state"] == state
    reply = post(api, path(running, f"/{action}"), key="k")
    assert (reply.status_code, reply.json()["state"]) == (202, state)
    again = post(api, path(running, f"/{action}"), key="k")
    assert again.content == reply.content
    refusal = post(api, path(running, f"/{action}"))
    assert code(refusal) == (409, "unlawful_action")
    assert action not in refusal.json()["actions"]


def test_start(api: Client, host: FakeHost, running: Instance) -> None:
    assert code(post(api, path(running, "/start"))) == (409, "unlawful_action")
    post(api, path(running, "/stop"))
    host.settle()
    set_price(actor_id=host.owner.pk, offer_id=host.offer.pk, price_micros=4 * UNIT)
    refusal = post(api, path(running, "/start"))
    assert code(refusal) == (409, "price_changed")
    assert refusal.json()["hourly_rate"] == "4.00"
    assert code(post(api, path(running, "/start"), {"max_hourly_rate": "much"})) == (400, "invalid_input")
    started = post(api, path(running, "/start"), {"max_hourly_rate": "4.00"})
    assert (started.status_code, started.json()["state"]) == (202, "starting")


def test_delete_can_be_repeated(api: Client, host: FakeHost, running: Instance) -> None:
    for state in ("releasing", "releasing"):
        reply = api.delete(path(running))
        assert (reply.status_code, reply.json()["state"]) == (202, state)
    host.settle()
    reply = api.delete(path(running))
    assert (reply.status_code, reply.json()["state"]) == (202, "gone")


def test_patch(api: Client, running: Instance) -> None:
    reply = api.patch(path(running), {"name": "new"}, content_type="application/json")
    assert (reply.status_code, reply.json()["name"]) == (200, "new")
    for wrong in ({"name": ""}, {"name": "x" * 81}, {}):
        assert code(api.patch(path(running), wrong, content_type="application/json")) == (400, "invalid_input")


# -- reading


def test_the_list_is_paged_filtered_and_costs_the_same_for_many(
    api: Client, rin: User, host: FakeHost, hours: Clock
) -> None:
    for _ in range(4):
        order(rin, host)
        hours.advance(seconds=1)
    host.settle()
    api.get("/api/v1/instances")  # the token's last use is noted once a minute
    with CaptureQueriesContext(connection) as queries:
        page = api.get("/api/v1/instances?limit=3").json()
    assert len(page["results"]) == 3
    assert len(queries) == 4, [query["sql"] for query in queries]
    rest = api.get(page["next"]).json()
    assert (len(rest["results"]), rest["next"]) == (1, None)
    ids = [row["id"] for row in [*page["results"], *rest["results"]]]
    assert len(set(ids)) == 4
    api.delete(f"/api/v1/instances/{ids[0]}")
    host.settle()
    assert len(api.get("/api/v1/instances").json()["results"]) == 3
    assert [row["id"] for row in api.get("/api/v1/instances?state=gone").json()["results"]] == [ids[0]]
    assert len(api.get("/api/v1/instances?state=gone&state=running").json()["results"]) == 4


def test_events_usage_metrics_access(api: Client, rin: User, host: FakeHost, running: Instance, hours: Clock) -> None:
    for _ in range(31):
        hours.advance(minutes=2)
        report = host.report()
        rows = [vars(row) | {"sample": Use()} for row in report.rows]
        host.deliver(type(report)(tuple(type(report.rows[0])(**row) for row in rows), ()))
        extend_holds(now=clock.now())
    settle_meters(now=clock.now())
    kinds = [event["kind"] for event in api.get(path(running, "/events")).json()["results"]]
    assert kinds == ["running", "rented"]
    assert len(api.get(path(running, "/events?limit=1")).json()["results"]) == 1
    usage = api.get(path(running, "/usage")).json()
    assert (usage["cost_so_far"], usage["settled"], usage["accrued"]) == ("3.72", "3.60", "0.12")
    assert [line["amount"] for line in usage["lines"]] == ["-3.60"]
    assert api.get(path(running)).json()["billing"]["cost_so_far"] == "3.72"
    points = api.get(path(running, "/metrics?minutes=30")).json()["points"]
    assert not [name for point in points for name, value in point.items() if isinstance(value, str) and name != "at"]
    assert len(points) == 15
    assert {point["gpu_util_pct"] for point in points} == {50.0}
    assert code(api.get(path(running, "/metrics?minutes=0"))) == (400, "invalid_input")
    access = api.get(path(running, "/access")).json()
    assert access["ssh"]["port"] == dict(running.ports)[22]
    assert access["jupyter_token"] == running.jupyter_token
    assert [pair["container"] for pair in access["ports"]] == [22, 8888, 6006]


# -- strangers

READS = ("", "/events", "/metrics", "/usage", "/access")
WRITES = ("/start", "/stop", "/restart")


def test_fault_099_someone_elses_instance_does_not_exist(
    bob: User, mallory: User, sign: Sign, host: FakeHost, running: Instance
) -> None:
    for other_user in (bob, mallory, host.owner):
        client = sign(other_user)
        assert client.get("/api/v1/instances").json()["results"] == []
        for rest in READS:
            assert code(client.get(path(running, rest))) == (404, "not_found")
        for rest in WRITES:
            assert code(post(client, path(running, rest))) == (404, "not_found")
        assert code(client.delete(path(running))) == (404, "not_found")
        assert code(client.patch(path(running), {"name": "x"}, content_type="application/json")) == (404, "not_found")
        assert code(client.get(f"/api/v1/quotes/quot_{running.quote_id.hex}")) == (404, "not_found")
    running.refresh_from_db()
    assert (running.state, running.name) == ("running", "box")


def test_without_a_token(client: Client, running: Instance) -> None:
    for rest in READS:
        assert client.get(path(running, rest)).status_code == 401
    for rest in WRITES:
        assert post(client, path(running, rest)).status_code == 401
    assert post(client, "/api/v1/quotes").status_code == post(client, "/api/v1/instances").status_code == 401
    assert client.delete(path(running)).status_code == 401


def test_a_token_for_reading_cannot_write(rin: User, sign: Sign, host: FakeHost, running: Instance) -> None:
    reader = sign(rin, "instances:read")
    assert reader.get(path(running)).status_code == 200
    for rest in WRITES:
        assert code(post(reader, path(running, rest))) == (403, "missing_scope")
    assert code(reader.delete(path(running))) == (403, "missing_scope")
    assert code(post(reader, "/api/v1/quotes", wishes(host))) == (403, "missing_scope")
    keys = sign(rin, "keys:read")
    assert code(keys.get(path(running))) == (403, "missing_scope")


def test_an_admirer_of_uuids(api: Client, host: FakeHost) -> None:
    for text in ("inst_", "inst_zz", "host_" + uuid4().hex, uuid4().hex, "inst_" + uuid4().hex):
        assert api.get(f"/api/v1/instances/{text}").status_code == 404


def test_renting_is_lean_over_http(api: Client, rin: User, host: FakeHost) -> None:
    grant(rin, UNIT)
    body = {"quote_id": quoted(api, host)}
    with CaptureQueriesContext(connection) as queries:
        assert post(api, "/api/v1/instances", body).status_code == 201
    real = [query["sql"] for query in queries if not query["sql"].startswith(("SAVEPOINT", "RELEASE", "SET LOCAL"))]
    assert len(real) <= 25, "\n".join(real)
