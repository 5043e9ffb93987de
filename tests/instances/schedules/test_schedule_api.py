"""Timers, the week, idling, the lock, places in line and kept data over the API."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.models import User, WebhookEvent
from accounts.tokens.services import issue_token
from accounts.webhooks.settings import add_webhook
from common import clock
from instances.models import Instance
from instances.schedules.timers import run_due_timers
from tests.billing.money import UNIT, grant
from tests.instances.fake_host import FakeHost, order_running, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import assert_all_well, sell

Reply = Any


@pytest.fixture
def api(rin: User) -> Client:
    _, text = issue_token(user=rin, name="test", scopes=["instances:read", "instances:write"])
    return Client(headers={"authorization": f"Bearer {text}"})


def path(instance: Instance, verb: str = "") -> str:
    return f"/api/v1/instances/inst_{instance.pk.hex}{verb}"


def patch(api: Client, instance: Instance, **body: Any) -> Reply:
    return api.patch(path(instance), body, content_type="application/json")


def post(api: Client, instance: Instance, verb: str, body: dict[str, Any] | None = None, **headers: str) -> Reply:
    return api.post(path(instance, verb), body or {}, content_type="application/json", headers=headers or None)


def seen(api: Client, instance: Instance) -> Any:
    return api.get(path(instance)).json()


def stopped(api: Client, renter: User, host: FakeHost) -> Instance:
    instance = order_running(renter, host)
    post(api, instance, "/stop")
    host.settle()
    return reload(instance)


def test_each_thing_is_set_alone_and_taken_away_by_null(api: Client, rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    week = {
        "weekly": [{"action": "stop", "days": ["fri", "mon", "mon"], "time": "18:30"}],
        "time_zone": "Asia/Shanghai",
    }
    reply = patch(api, instance, schedule={"stop_at": "2025-03-02T10:00:00+08:00", **week})
    assert reply.status_code == 200, reply.content
    body = reply.json()
    assert body["schedule"] == {
        "stop_at": "2025-03-02T02:00:00Z",
        "release_at": None,
        "weekly": [{"action": "stop", "days": ["mon", "fri"], "time": "18:30"}],
        "time_zone": "Asia/Shanghai",
        "next": {"action": "stop", "at": "2025-03-03T10:30:00Z"},
    }
    assert patch(api, instance, idle_stop={"below_pct": 3, "minutes": 45}).json()["idle_stop"] == {
        "below_pct": 3,
        "minutes": 45,
    }
    patch(api, instance, name="renamed", locked=True)
    patch(api, instance, schedule={"stop_at": None})
    body = seen(api, instance)
    assert (body["name"], body["locked"], body["schedule"]["stop_at"]) == ("renamed", True, None)
    assert body["schedule"]["next"] is not None
    body = patch(api, instance, idle_stop=None, schedule={"weekly": []}).json()
    assert (body["idle_stop"], body["schedule"]["weekly"], body["schedule"]["next"]) == (None, [], None)
    assert (body["name"], body["locked"]) == ("renamed", True), "what is left out stays"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"schedule": {"stop_at": "2025-01-01T00:00:00Z"}}, "schedule.stop_at"),
        ({"schedule": {"weekly": [{"action": "stop", "days": ["mon"], "time": "18:30"}]}}, "schedule.time_zone"),
        ({"schedule": {"weekly": [{"action": "halt", "days": ["mon"], "time": "18:30"}]}}, "schedule.weekly"),
        ({"schedule": {"weekly": [{"action": "stop", "days": [], "time": "18:30"}]}}, "schedule.weekly"),
        ({"schedule": {"weekly": [{"action": "stop", "days": ["mon"], "time": "24:00"}]}}, "schedule.weekly"),
        ({"schedule": {"weekly": [{"action": "stop", "days": ["mon"], "time": "at 18:30 or so"}]}}, "schedule.weekly"),
        ({"idle_stop": {"below_pct": 5}}, "idle_stop.minutes"),
        ({"idle_stop": {"below_pct": 101, "minutes": 30}}, "idle_stop.below_pct"),
        ({"locked": "perhaps"}, "locked"),
        ({"name": ""}, "name"),
    ],
)
def test_what_is_wrong_is_named(api: Client, rin: User, host: FakeHost, body: dict[str, Any], field: str) -> None:
    reply = patch(api, order_running(rin, host), **body)
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_input")
    assert any(error["field"].startswith(field) for error in reply.json()["errors"]), reply.json()


def test_a_lock_refuses_the_release_until_it_is_opened(api: Client, rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    patch(api, instance, locked=True)
    reply = api.delete(path(instance))
    assert (reply.status_code, reply.json()["code"]) == (409, "locked")
    assert "release" not in seen(api, instance)["actions"]
    assert post(api, instance, "/stop").status_code == 202, "it stops and starts as ever"
    patch(api, instance, locked=False)
    assert api.delete(path(instance)).status_code == 202
    assert api.delete(path(instance)).status_code == 202
    reply = patch(api, instance, locked=True)
    assert (reply.status_code, reply.json()["code"]) == (409, "unlawful_action")


def test_a_place_in_line_is_rehearsed_taken_once_shown_and_left(api: Client, rin: User, bob: User, host: FakeHost) -> None:
    grant(bob, 1_000 * UNIT)
    instance = stopped(api, rin, host)
    order_running(bob, host, gpu_count=4)
    reply = post(api, instance, "/start")
    assert (reply.status_code, reply.json()["code"]) == (409, "gpu_taken")
    rehearsed = post(api, instance, "/start?dry_run=true", {"wait": True})
    assert (rehearsed.status_code, rehearsed.json()["line"]["position"]) == (200, 1)
    assert seen(api, instance)["state"] == "stopped"
    replies = [post(api, instance, "/start", {"wait": True}, **{"Idempotency-Key": "one"}) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [202, 202]
    body = seen(api, instance)
    assert (body["state"], body["line"]["position"], body["line"]["of"]) == ("waiting", 1, 1)
    assert body["line"]["until"] == "2025-03-08T09:30:00.123457Z"
    assert post(api, instance, "/stop").json()["state"] == "stopped"
    assert seen(api, instance)["line"] is None
    assert_all_well()


def test_keeping_data_is_rehearsed_priced_and_done_once(api: Client, rin: User, host: FakeHost, hours: Clock) -> None:
    sell(host)
    instance = stopped(api, rin, host)
    body = seen(api, instance)
    assert "keep" in body["actions"]
    assert body["retention"] == {
        "until": "2025-03-31T09:30:00.123457Z",
        "free_until": "2025-03-31T09:30:00.123457Z",
        "gb": 20,
        "daily_fee": "0.096",
    }
    dear = post(api, instance, "/keep", {"days": 10, "max_fee": "0.95"})
    assert (dear.status_code, dear.json()["code"], dear.json()["fee"]) == (409, "price_changed", "0.96")
    assert post(api, instance, "/keep?dry_run=true", {"days": 10}).json()["release_at"] == "2025-04-10T09:30:00.123457Z"
    for _ in range(2):
        reply = post(api, instance, "/keep", {"days": 10, "max_fee": "0.96"}, **{"Idempotency-Key": "ten"})
        assert reply.status_code == 202, reply.content
    retention = seen(api, instance)["retention"]
    assert (retention["until"], retention["free_until"]) == ("2025-04-10T09:30:00.123457Z", "2025-03-31T09:30:00.123457Z")
    for wrong in ({"days": 0}, {"days": 366}, {}):
        assert post(api, instance, "/keep", wrong).status_code == 400
    running = order_running(rin, host)
    assert (post(api, running, "/keep", {"days": 7}).json()["code"], seen(api, running)["retention"]) == (
        "unlawful_action",
        None,
    )
    assert_all_well()


def test_what_it_did_by_itself_is_told_in_events_and_to_programs(
    api: Client, rin: User, host: FakeHost, hours: Clock
) -> None:
    add_webhook(user=rin, url="https://1.1.1.1/hook", kinds=["instance.schedule"])
    instance = order_running(rin, host)
    patch(api, instance, schedule={"stop_at": (clock.now() + timedelta(hours=1)).isoformat()})
    hours.advance(hours=1)
    run_due_timers(now=clock.now())
    kinds = [event["kind"] for event in api.get(path(instance, "/events")).json()["results"]]
    assert kinds[:2] == ["timed_stop", "schedule_set"]
    sent_event = WebhookEvent.objects.get(user=rin, kind="instance.schedule")
    assert (sent_event.payload["action"], sent_event.payload["instance"]) == ("stop", f"inst_{instance.pk.hex}")
