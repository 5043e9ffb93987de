"""Clones and moves through the API and through the pages, as a renter meets them."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from accounts.constants import SCOPES
from accounts.models import User
from accounts.tokens.services import issue_token
from common import clock
from instances.host_reports.operation_results import apply_results
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, Move
from instances.transfers.completion import advance_transfers
from storage.models import Operation
from storage.operations.services import OperationRow, record_operations
from tests.host_messages import with_message
from tests.instances.fake_host import FakeHost, by_id, order, reload

Post = Callable[..., Any]


@pytest.fixture
def other(host: FakeHost, hana: User) -> FakeHost:
    return FakeHost(hana, price="2.40")


@pytest.fixture
def stopped(rin: User, host: FakeHost) -> Instance:
    instance = order(rin, host, disk=10, name="work")
    host.settle()
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    return reload(instance)


@pytest.fixture
def api(rin: User) -> Client:
    _, text = issue_token(user=rin, name="test", scopes=list(SCOPES))
    return Client(headers={"authorization": f"Bearer {text}"})


@pytest.fixture
def page(rin: User, client: Client) -> Client:
    client.force_login(rin)
    return client


def post(client: Client, path: str, body: dict[str, Any], **headers: str) -> Any:
    return client.post(f"/api/v1/{path}", body, content_type="application/json", headers=headers)


def at(instance: Instance, rest: str = "") -> str:
    return f"instances/inst_{instance.pk.hex}{rest}"


def offer(host: FakeHost) -> str:
    return f"offr_{host.offer.pk.hex}"


def tell(kind: str, phase: str, **seen: Any) -> None:
    operation = Operation.objects.get(kind=kind, ended_at=None)
    record_operations(
        host_id=operation.host_id, rows=[OperationRow(operation.pk, phase, **with_message(seen))], at=clock.now()
    )
    apply_results()


def test_a_script_clones_once_whatever_it_repeats(api: Client, host: FakeHost, stopped: Instance) -> None:
    rehearsed = post(api, at(stopped, "/clone?dry_run=true"), {"name": "twin"})
    assert (rehearsed.status_code, rehearsed.json()["state"]) == (200, "copying") and not Move.objects.exists()
    first = post(api, at(stopped, "/clone"), {"name": "twin"}, **{"Idempotency-Key": "k"})
    again_ = post(api, at(stopped, "/clone"), {"name": "twin"}, **{"Idempotency-Key": "k"})
    assert first.status_code == again_.status_code == 201 and first.json()["id"] == again_.json()["id"]
    clone = first.json()
    assert (clone["name"], clone["state"], clone["data_disk_gb"], clone["actions"]) == (
        "twin",
        "copying",
        10,
        ["cancel-move"],
    )
    tell("copy_root", "running", done_bytes=300, total_bytes=1000, detail="Copying the data disk.")
    [move] = api.get(f"/api/v1/{at(stopped, '/moves')}").json()["results"]
    assert (move["kind"], move["state"], move["done_bytes"], move["total_bytes"]) == ("clone", "copying", 300, 1000)
    tell("copy_root", "done")
    host.settle()
    assert api.get(f"/api/v1/instances/{clone['id']}").json()["state"] == "running"


def test_a_script_moves_by_quote_or_offer_and_gives_up(
    api: Client, host: FakeHost, other: FakeHost, stopped: Instance
) -> None:
    wishes = {"offer": offer(other), "image": "berth-base", "data_disk_gb": 10, "gpu_count": 2}
    quote = post(api, "quotes", wishes).json()
    moved = post(api, at(stopped, "/migrate"), {"quote_id": quote["id"]})
    assert (moved.status_code, moved.json()["state"], moved.json()["offer"]) == (202, "copying", offer(host))
    refused = post(api, at(stopped, "/start"), {})
    assert (refused.status_code, refused.json()["code"]) == (409, "unlawful_action")
    given_up = post(api, at(stopped, "/cancel-move"), {})
    assert (given_up.status_code, given_up.json()["state"]) == (202, "stopped")
    other.settle()
    dear = post(api, at(stopped, "/migrate"), {"offer": offer(other), "max_hourly_rate": "1.00"})
    assert (dear.status_code, dear.json()["code"]) == (409, "price_changed")
    for body in ({}, {"offer": offer(host)}):
        stays = post(api, at(stopped, "/migrate"), body)
        assert (stays.status_code, stays.json()["errors"][0]["field"]) == (400, "offer")
    assert post(api, at(stopped, "/migrate"), {"offer": offer(other)}).status_code == 202
    tell("receive_root", "done", outcome={"checksum": "ab" * 32, "bytes": "9", "cuts": "1", "resumed_at": "5"})
    other.settle()
    advance_transfers(now=clock.now())
    moves = {move["state"]: move for move in api.get(f"/api/v1/{at(stopped, '/moves')}").json()["results"]}
    arrived = moves["clearing"]
    assert (arrived["checksum"], arrived["cuts"], arrived["to_host"]) == ("ab" * 32, 1, other.host.name)
    assert moves["cancelled"]["failure"] == {"code": "cancelled", "detail": "", "message": None}
    shown = api.get(f"/api/v1/{at(stopped)}").json()
    assert (shown["state"], shown["offer"], shown["gpu"]["count"]) == ("running", offer(other), 1)


def test_a_person_clones_by_hand_sees_it_come_and_gives_up(page: Client, other: FakeHost, stopped: Instance) -> None:
    form = page.get(f"/{at(stopped, '/clone')}").content.decode()
    assert "same host" in form and form.index(offer(other)) > form.index("same host") and 'name="data_disk" checked' in form
    choice = {"offer": offer(other), "gpu_count": 1, "name": "twin", "data_disk": "on"}
    bill = page.post(f"/{at(stopped, '/clone/quote')}", choice).content.decode()
    rate = re.search(r'name="max_rate" value="([\d.]+)"', bill)
    assert rate and "Copying is free" in bill
    made = page.post(f"/{at(stopped, '/clone')}", choice | {"max_rate": rate[1]})
    copy = by_id(made["Location"].rpartition("/")[2])
    assert (copy.name, copy.host_id, copy.state) == ("twin", other.host.pk, "copying")
    tell("receive_root", "running", done_bytes=2**20, total_bytes=2**22, detail="Receiving.")
    shown = page.get(made["Location"]).content.decode()
    assert "Cloning" in shown and 'value="25"' in shown and "Receiving." in shown
    assert page.post(f"/{at(copy, '/cancel-move')}").status_code == 302
    assert (reload(stopped).state, reload(copy).state) == ("stopped", "releasing")


def test_a_person_moves_by_hand_and_reads_why_it_cannot_be(
    page: Client, host: FakeHost, other: FakeHost, stopped: Instance
) -> None:
    form = page.get(f"/{at(stopped, '/migrate')}").content.decode()
    assert offer(other) in form and offer(host) not in form
    dear = page.post(f"/{at(stopped, '/migrate')}", {"offer": offer(other), "gpu_count": 1, "max_rate": "0.01"})
    assert dear.status_code == 409 and "The price changed" in dear.content.decode()
    assert page.post(f"/{at(stopped, '/migrate')}", {"offer": offer(other), "gpu_count": 1}).status_code == 302
    assert "Moving to another host" in page.get(f"/{at(stopped)}").content.decode()
    assert "Not possible right now" in page.get(f"/{at(stopped, '/clone')}").content.decode()
    tell("send_root", "failed", failure_code="root_missing", detail="The instance's container is gone from its host.")
    seen = page.get(f"/{at(stopped)}").content.decode()
    assert "Move failed" in seen and "Not moved." in seen
    other.settle()
    assert "Not moved." not in page.get(f"/{at(stopped)}").content.decode()
