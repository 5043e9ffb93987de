"""Reliability and maintenance through the API: public, exact, compatible with what was there before."""

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from django.test import Client

from accounts.models import User
from accounts.tokens.services import issue_token
from common.ids import public_id
from marketplace.models import Host, Maintenance, ReliabilityEvent
from marketplace.reliability.events import record_failed_start, record_start, refresh_reliability
from tests.billing.money import START, at


@pytest.fixture(autouse=True)
def stopped_clock() -> Any:
    with time_machine.travel(START, tick=False) as traveller:
        yield traveller


@pytest.fixture
def owner(hana: User) -> Client:
    return Client(
        headers={"authorization": f"Bearer {issue_token(user=hana, name='t', scopes=['hosts:read', 'hosts:write'])[1]}"}
    )


def address(host: Host, rest: str) -> str:
    return f"/api/v1/hosts/{public_id('host', host.pk)}/{rest}"


def post(client: Client, host: Host, body: dict[str, Any], query: str = "", **headers: str) -> Any:
    return client.post(
        address(host, f"maintenance{query}"), json.dumps(body), content_type="application/json", headers=headers
    )


def wanted(**changes: Any) -> dict[str, Any]:
    begin = at(days=2)
    body = {"category": "disk", "starts_at": begin.isoformat(), "ends_at": (begin + timedelta(hours=2)).isoformat()}
    return {**body, "detail": "A new NVMe.", **changes}


# -- the ledger


def test_everyone_reads_the_ledger_with_every_input(host: Host, stopped_clock: time_machine.Traveller) -> None:
    record_start(host_id=host.pk, subject=uuid4(), at=at(hours=1))
    record_failed_start(host_id=host.pk, subject=uuid4(), at=at(hours=2), detail="ssh_silent")
    ReliabilityEvent.objects.create(host=host, kind="outage", starts_at=at(days=3), ends_at=at(days=3, hours=6))
    stopped_clock.shift(timedelta(days=8))
    refresh_reliability(now=at(days=8))
    body = Client().get(address(host, "reliability")).json()
    until = at(days=8).replace(minute=30, second=0, microsecond=0)
    assert body["host"] == {"id": public_id("host", host.pk), "name": "rig", "region": "eu"}
    assert (body["score"], body["score_ppm"]) == (0.888, 888_000)
    assert (body["score_ppm"], body["formula_version"]) == (Host.objects.get().reliability_ppm, 1)
    assert body["window"] == {"from": "2025-03-01T09:30:00.123457Z", "until": until.strftime("%Y-%m-%dT%H:%M:%SZ")}
    seconds = (until - START).total_seconds()
    assert body["inputs"] == {
        "observed_seconds": seconds,
        "excluded_seconds": 0.0,
        "outage_seconds": 21_600.0,
        "starts": 1,
        "failed_starts": 1,
        "host_faults": 0,
    }
    outage, failed = body["events"]
    assert (outage["kind"], outage["ends_at"], outage["detail"]) == ("outage", "2025-03-04T15:30:00.123457Z", None)
    assert (failed["kind"], failed["ends_at"], failed["detail"]) == ("failed_start", None, "ssh_silent")
    assert set(failed) == {"id", "kind", "starts_at", "ends_at", "detail", "excluded_seconds", "counts"}
    assert body["starts"] == ["2025-03-01T10:30:00.123457Z"]


def test_a_new_host_has_a_ledger_and_no_number(host: Host) -> None:
    body = Client().get(address(host, "reliability")).json()
    assert (body["score"], body["score_ppm"], body["events"], body["starts"]) == (None, None, [], [])


@pytest.mark.parametrize("name", ["host_" + "0" * 32, "host_x", "inst_" + "0" * 32])
def test_no_such_host(db: None, name: str) -> None:
    assert Client().get(f"/api/v1/hosts/{name}/reliability").status_code == 404


def test_the_owner_sees_the_number_in_the_host_too(host: Host, owner: Client) -> None:
    refresh_reliability(now=at(days=9))
    assert owner.get(address(host, "")[:-1]).json()["reliability"] == 1.0


# -- maintenance


def test_announced_listed_and_called_off(host: Host, owner: Client) -> None:
    made = post(owner, host, wanted())
    assert made.status_code == 201
    body = made.json()
    assert body == {
        "id": public_id("mtn", Maintenance.objects.get().pk),
        "category": "disk",
        "detail": "A new NVMe.",
        "announced_at": "2025-03-01T09:30:00.123457Z",
        "starts_at": "2025-03-03T09:30:00.123457Z",
        "ends_at": "2025-03-03T11:30:00.123457Z",
        "cancelled_at": None,
        "excuses": True,
    }
    assert owner.get(address(host, "maintenance")).json() == {"next": None, "previous": None, "results": [body]}
    assert Client().get(address(host, "reliability")).json()["maintenance"] == [body]
    gone = owner.delete(address(host, f"maintenance/{body['id']}"))
    assert (gone.status_code, gone.json()) == (
        200,
        {**body, "cancelled_at": "2025-03-01T09:30:00.123457Z", "excuses": False},
    )


def test_the_old_body_still_drains(host: Host, owner: Client) -> None:
    reply = post(owner, host, {"draining": True})
    assert (reply.status_code, reply.json()["draining"], reply.json()["id"]) == (200, True, public_id("host", host.pk))
    assert post(owner, host, {"draining": False}).json()["draining"] is False
    assert not Maintenance.objects.exists()


def test_once_for_each_idempotency_key_and_never_in_a_dry_run(host: Host, owner: Client) -> None:
    rehearsed = post(owner, host, wanted(), query="?dry_run=true")
    assert (rehearsed.status_code, rehearsed.json()["category"]) == (200, "disk")
    assert not Maintenance.objects.exists()
    first = post(owner, host, wanted(), **{"idempotency-key": "k"})
    assert post(owner, host, wanted(), **{"idempotency-key": "k"}).json() == first.json()
    assert Maintenance.objects.count() == 1


@pytest.mark.parametrize(
    ("changes", "field", "code"),
    [
        ({"category": "holiday"}, "category", "invalid_choice"),
        ({"starts_at": "soon"}, "starts_at", "invalid"),
        ({"starts_at": START.isoformat()}, "starts_at", "too_soon"),
        ({"ends_at": at(days=4).isoformat()}, "ends_at", "too_long"),
        ({"starts_at": "0001-01-01T00:00:00+14:00"}, "starts_at", "overflow"),
        ({"ends_at": "9999-12-31T23:59:59-14:00"}, "ends_at", "overflow"),
        ({"detail": "x" * 301}, "detail", "max_length"),
    ],
)
def test_what_is_refused_says_which_field(host: Host, owner: Client, changes: dict[str, Any], field: str, code: str) -> None:
    reply = post(owner, host, wanted(**changes))
    assert reply.status_code == 400
    assert (field, code) in [(error["field"], error["code"]) for error in reply.json()["errors"]], reply.json()


@pytest.mark.parametrize("body", [[], "x", None, 3])
def test_a_body_that_is_no_object(host: Host, owner: Client, body: Any) -> None:
    assert post(owner, host, body).status_code == 400
