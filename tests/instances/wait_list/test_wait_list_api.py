"""The wait list as a script meets it."""

from dataclasses import fields
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from accounts.models import User
from common import clock
from instances.models import Instance, Watch
from instances.release.services import release_instance
from instances.wait_list.wait_list import serve_entries
from instances.web.wait_list.serializers import WatchOut
from tests.billing.money import UNIT, grant, wallet
from tests.instances.fake_host import FakeHost, order_running
from tests.instances.fixtures import Clock, Sign

WATCHES = "/api/v1/watches"
RENT = {"q": "rtx-4090 count=2", "action": "rent", "image": "berth-base", "max_price": "4.00"}


@pytest.fixture
def full(host: FakeHost, rin: User) -> Instance:
    return order_running(rin, host, gpu_count=4)


@pytest.fixture
def api(bob: User, sign: Sign) -> Client:
    grant(bob, 100 * UNIT)
    return sign(bob)


def post(client: Client, body: Any, *, key: str | None = None, query: str = "") -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(f"{WATCHES}{query}", body, content_type="application/json", headers=headers)


def test_a_place_from_beginning_to_end(full: Instance, host: FakeHost, api: Client, bob: User) -> None:
    made = post(api, {**RENT, "name": "night", "data_disk_gb": 20, "expires_in_hours": 24})
    assert made.status_code == 201
    watch = made.json()
    assert set(watch) == {field.name for field in fields(WatchOut)}
    expected = {
        "q": "count=2 gpu=rtx-4090",
        "action": "rent",
        "state": "waiting",
        "ahead": 0,
        "gpu_count": 2,
        "image": "berth-base",
        "max_price": "4.00",
        "data_disk_gb": 20,
        "name": "night",
        "held": "8.00",
        "offer": None,
        "instance": None,
        "reason": None,
        "ended_at": None,
    }
    assert {name: watch[name] for name in expected} == expected
    assert api.get(f"{WATCHES}/{watch['id']}").json() == watch
    assert api.get(WATCHES).json()["results"] == [watch]

    release_instance(renter=full.renter, instance_id=full.pk)
    host.settle()
    serve_entries(now=clock.now())
    served = api.get(f"{WATCHES}/{watch['id']}").json()
    assert (served["state"], served["ahead"], served["held"]) == ("rented", None, "0.00")
    assert api.get(f"/api/v1/instances/{served['instance']}").json()["name"] == "night"
    assert served["offer"] == f"offr_{host.offer.pk.hex}"
    assert wallet(bob).held_micros == 7_200_000


def test_cancel_is_a_delete_that_may_be_repeated(full: Instance, api: Client, bob: User) -> None:
    watch = post(api, RENT).json()
    for _ in range(2):
        reply = api.delete(f"{WATCHES}/{watch['id']}")
        assert (reply.status_code, reply.json()["state"], reply.json()["held"]) == (200, "cancelled", "0.00")
    assert wallet(bob).held_micros == 0


def test_what_is_served_cannot_be_cancelled(host: FakeHost, api: Client) -> None:
    watch = post(api, RENT).json()
    serve_entries(now=clock.now())
    reply = api.delete(f"{WATCHES}/{watch['id']}")
    assert (reply.status_code, reply.json()["code"]) == (409, "unlawful_action")


def test_one_key_is_one_place_and_one_hold(full: Instance, api: Client, bob: User) -> None:
    key = uuid4().hex
    replies = [post(api, RENT, key=key) for _ in range(3)]
    assert {reply.status_code for reply in replies} == {201}
    assert len({reply.content for reply in replies}) == 1
    assert Watch.objects.count() == 1
    assert wallet(bob).held_micros == 8 * UNIT
    assert post(api, {**RENT, "max_price": "5"}, key=key).json()["code"] == "idempotency_conflict"


def test_a_dry_run_takes_no_place(full: Instance, api: Client, bob: User) -> None:
    reply = post(api, RENT, query="?dry_run=true")
    assert (reply.status_code, reply.json()["held"]) == (200, "8.00")
    assert not Watch.objects.exists()
    assert wallet(bob).held_micros == 0


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        ({}, 400, "invalid_input", "q"),
        ({"q": "gpu="}, 400, "search_syntax", "q"),
        ({"q": "", "action": "buy"}, 400, "invalid_input", "action"),
        ({"q": "", "action": "rent", "max_price": "1"}, 400, "invalid_input", "image"),
        ({"q": "", "action": "rent", "image": "berth-base"}, 400, "invalid_input", "max_price"),
        ({**RENT, "max_price": "0"}, 400, "invalid_input", "max_price"),
        ({**RENT, "max_price": "cheap"}, 400, "invalid_input", None),
        ({**RENT, "image": "nothing"}, 404, "not_found", None),
        ({**RENT, "ssh_key_ids": ["key_" + "0" * 32]}, 404, "not_found", None),
        ({**RENT, "expires_in_hours": 0}, 400, "invalid_input", "expires_in_hours"),
        ({**RENT, "expires_in_hours": 721}, 400, "invalid_input", "expires_in_hours"),
        ({**RENT, "max_price": "51"}, 402, "insufficient_funds", None),
    ],
)
def test_what_is_refused(full: Instance, api: Client, *, body: Any, status: int, code: str, field: str | None) -> None:
    reply = post(api, body)
    assert (reply.status_code, reply.json()["code"]) == (status, code)
    if field is not None:
        assert [error["field"] for error in reply.json()["errors"]] == [field]
    assert not Watch.objects.exists()


def test_a_line_that_cannot_be_read_says_where(api: Client) -> None:
    problem = post(api, {"q": "gpu=t4 prise<1"}).json()
    assert problem["position"] == 7
    assert "price" in problem["hint"]


def test_ahead_counts_everyones_places(full: Instance, api: Client, rin: User, sign: Sign) -> None:
    other = sign(rin)
    post(other, {"q": "h200"})
    mine = post(api, {"q": ""}).json()
    post(other, {"q": ""})
    assert mine["ahead"] == 1
    assert [watch["ahead"] for watch in other.get(WATCHES).json()["results"]] == [2, 0]


def test_list_is_paged_and_chosen_by_state(full: Instance, api: Client) -> None:
    made = [post(api, {"q": ""}).json()["id"] for _ in range(5)]
    api.delete(f"{WATCHES}/{made[0]}")
    first = api.get(WATCHES, {"limit": 3}).json()
    rest = api.get(first["next"]).json()
    assert [watch["id"] for watch in [*first["results"], *rest["results"]]] == made[::-1]
    assert [watch["id"] for watch in api.get(WATCHES, {"state": "cancelled"}).json()["results"]] == made[:1]


def test_strangers_and_scopes(full: Instance, api: Client, rin: User, sign: Sign, bob: User) -> None:
    watch = post(api, RENT).json()
    for method in ("get", "delete"):
        assert getattr(sign(rin), method)(f"{WATCHES}/{watch['id']}").status_code == 404
    assert sign(rin).get(WATCHES).json()["results"] == []
    reader = sign(bob, "instances:read")
    assert reader.get(f"{WATCHES}/{watch['id']}").status_code == 200
    assert reader.delete(f"{WATCHES}/{watch['id']}").status_code == 403
    assert post(reader, RENT).status_code == 403
    assert Client().get(WATCHES).status_code == 401


def test_an_expired_place_says_so(full: Instance, api: Client, hours: Clock) -> None:
    watch = post(api, {**RENT, "expires_in_hours": 1}).json()
    hours.advance(hours=1)
    serve_entries(now=clock.now())
    ended = api.get(f"{WATCHES}/{watch['id']}").json()
    assert (ended["state"], ended["held"], ended["ahead"]) == ("expired", "0.00", None)
    assert ended["ended_at"] == ended["expires_at"]
