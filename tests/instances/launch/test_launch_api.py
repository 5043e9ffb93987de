"""Launch settings over the API: quoted, ordered, changed; secrets go in and never come out."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts.models import RememberedReply, User
from agents.gateway.converters import desired_instances as messages_of
from instances.core.observations import ObservedRow
from instances.core.selectors import desired_instances
from instances.host_reports.launch_reports import record_launch_reports
from instances.models import Instance, Launch, LaunchStatus, Quote
from marketplace.models import Host
from storage.images.register import register_image
from tests.instances.fake_host import FakeHost
from tests.instances.fixtures import Sign

PLANTED = "s3cret-planted"
SETTINGS: dict[str, Any] = {
    "env": {"MODEL": "tiny"},
    "secrets": {"HF_TOKEN": PLANTED},
    "command": ["python", "serve.py"],
    "args": ["--port", "8000"],
    "workdir": "/workspace",
    "user": "1000",
    "shm_mb": 512,
    "on_start": "echo hello",
    "readiness": {"port": 8000, "path": "/health"},
}


@pytest.fixture
def able(host: FakeHost) -> FakeHost:
    Host.objects.update(launch_settings=True)
    return host


@pytest.fixture
def api(rin: User, sign: Sign) -> Client:
    return sign(rin)


def post(client: Client, path: str, body: dict[str, Any], **headers: str) -> Any:
    return client.post(f"/api/v1/{path}", body, content_type="application/json", headers=headers)


def quoted(api: Client, host: FakeHost, **wishes: Any) -> Any:
    return post(api, "quotes", {"offer": f"offr_{host.offer.pk.hex}", "image": "berth-base", **wishes})


def rented(api: Client, host: FakeHost, **settings: Any) -> Any:
    quote = quoted(api, host, **settings).json()
    return post(api, "instances", {"quote_id": quote["id"]})


def test_what_was_quoted_is_what_runs(api: Client, able: FakeHost) -> None:
    quote = quoted(api, able, **SETTINGS)
    assert quote.status_code == 201, quote.content
    shown = quote.json()["launch"]
    assert shown["secrets"] == ["HF_TOKEN"]
    assert shown["readiness"] == {"type": "http", "port": 8000, "path": "/health", "grace_seconds": 60}
    answer = post(api, "instances", {"quote_id": quote.json()["id"], "signature": quote.json()["signature"], **SETTINGS})
    assert answer.status_code == 201, answer.content
    assert answer.json()["launch"] == shown
    assert api.get(f"/api/v1/instances/{answer.json()['id']}").json()["launch"] == shown
    assert api.get("/api/v1/instances").json()["results"][0]["launch"] == shown
    [row] = desired_instances(able.host.pk)
    [message] = messages_of([row])
    assert message.launch is not None
    assert message.launch.secrets == {"HF_TOKEN": PLANTED}
    assert message.launch.command == ["python", "serve.py", "--port", "8000"]
    assert not message.untouched
    assert PLANTED not in repr(message) + repr(row)
    for body in (quote.content, answer.content):
        assert PLANTED not in body.decode()


def test_nothing_given_stays_nothing(api: Client, host: FakeHost) -> None:
    answer = rented(api, host)
    assert answer.status_code == 201
    assert answer.json()["launch"] is answer.json()["launch_status"] is None
    assert not Launch.objects.exists()
    assert desired_instances(host.host.pk)[0].launch is None


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"secrets": {"HF_TOKEN": "other"}}, "secrets"),
        ({"env": {"MODEL": "large"}}, "env"),
        ({"on_start": "rm -rf /"}, "on_start"),
        ({"command": ["sh"]}, "command"),
    ],
)
def test_an_order_that_differs_is_refused(api: Client, able: FakeHost, change: dict[str, Any], field: str) -> None:
    quote = quoted(api, able, **SETTINGS).json()
    answer = post(api, "instances", {"quote_id": quote["id"], **SETTINGS, **change})
    assert (answer.status_code, answer.json()["code"]) == (409, "quote_mismatch")
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert PLANTED not in answer.content.decode()
    assert not Instance.objects.exists()
    assert post(api, "instances", {"quote_id": answer.json()["quote"]["id"], **SETTINGS, **change}).status_code == 201


def test_an_old_agent_is_refused_before_money(api: Client, able: FakeHost) -> None:
    quote = quoted(api, able, **SETTINGS).json()
    Host.objects.update(launch_settings=False)
    assert quoted(api, able, **SETTINGS).json()["code"] == "launch_unsupported"
    answer = post(api, "instances", {"quote_id": quote["id"]})
    assert (answer.status_code, answer.json()["code"]) == (409, "launch_unsupported")
    assert not Instance.objects.exists()
    assert Quote.objects.get().used_at is None


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"env": {"FOO": 1}}, "env.FOO"),
        ({"env": {"BERTH_X": "1"}}, "env.BERTH_X"),
        ({"command": ["a", "b", "c", 4]}, "command[3]"),
        ({"shm_mb": 65_000}, "shm_mb"),
        ({"workdir": "here"}, "workdir"),
        ({"secrets": {"a-b": PLANTED}}, "secrets.a-b"),
        ({"readiness": {"type": "http"}}, "readiness.port"),
    ],
)
def test_refusals_name_the_field(api: Client, able: FakeHost, wrong: dict[str, Any], field: str) -> None:
    answer = quoted(api, able, **wrong)
    assert answer.status_code == 400, answer.content
    assert [error["field"] for error in answer.json()["errors"]] == [field]
    assert PLANTED not in answer.content.decode()
    assert not Launch.objects.exists()


def test_a_restart_changes_some_of_it(api: Client, able: FakeHost) -> None:
    instance = rented(api, able, **SETTINGS).json()
    able.settle()
    row = Instance.objects.get()
    answer = post(api, f"instances/{instance['id']}/restart", {"env": {"MODEL": "large"}, "secrets": {"HF_TOKEN": None}})
    assert answer.status_code == 202, answer.content
    assert answer.json()["launch"] == {**instance["launch"], "env": {"MODEL": "large"}}
    [wanted] = desired_instances(able.host.pk)
    assert wanted.launch is not None
    assert wanted.launch.secrets == {"HF_TOKEN": PLANTED}
    assert wanted.generation == row.run_generation + 1
    able.settle()
    unknown = post(api, f"instances/{instance['id']}/restart", {"secrets": {"NEW": None}})
    assert unknown.json()["errors"][0]["field"] == "secrets.NEW"


def test_a_stopped_instance_is_changed_for_its_next_start(api: Client, able: FakeHost) -> None:
    instance = rented(api, able, **SETTINGS).json()
    able.settle()
    path = f"/api/v1/instances/{instance['id']}/launch"
    body: dict[str, Any] = {"command": [], "args": [], "secrets": {}}
    assert api.patch(path, body, content_type="application/json").json()["code"] == "unlawful_action"
    post(api, f"instances/{instance['id']}/stop", {})
    able.settle()
    changed = api.patch(path, body, content_type="application/json")
    assert changed.status_code == 200, changed.content
    assert changed.json()["launch"] == {**instance["launch"], "command": [], "args": [], "secrets": []}
    assert api.patch(path, {}, content_type="application/json").status_code == 400


def test_a_reimage_takes_changes_and_gives_them_back(api: Client, able: FakeHost) -> None:
    register_image(slug="other", title="Other", reference="other:1")
    instance = rented(api, able, **SETTINGS).json()
    able.settle()
    post(api, f"instances/{instance['id']}/stop", {})
    able.settle()
    answer = post(api, f"instances/{instance['id']}/reimage", {"image": "other", "env": {}})
    assert answer.json()["launch"]["env"] == {}
    kept = api.delete(f"/api/v1/instances/{instance['id']}/reimage")
    assert kept.json()["launch"] == instance["launch"]


def test_a_clone_runs_the_same_or_with_changes(api: Client, able: FakeHost) -> None:
    instance = rented(api, able, **SETTINGS).json()
    able.settle()
    post(api, f"instances/{instance['id']}/stop", {})
    able.settle()
    clone = post(api, f"instances/{instance['id']}/clone", {"env": {"MODEL": "large"}})
    assert clone.status_code == 201, clone.content
    assert clone.json()["launch"] == {**instance["launch"], "env": {"MODEL": "large"}}


def test_no_stored_reply_or_hash_tells_a_secret(api: Client, able: FakeHost) -> None:
    body = {"offer": f"offr_{able.offer.pk.hex}", **SETTINGS}
    first = post(api, "quotes", body, **{"Idempotency-Key": "one"})
    assert post(api, "quotes", body, **{"Idempotency-Key": "one"}).json() == first.json()
    other = {**body, "secrets": {"HF_TOKEN": "x"}}
    assert post(api, "quotes", other, **{"Idempotency-Key": "one"}).json()["code"] == "idempotency_conflict"
    assert PLANTED not in RememberedReply.objects.get().body


def test_no_table_has_it(api: Client, able: FakeHost, bob: User, sign: Sign) -> None:
    instance = rented(api, able, **SETTINGS).json()
    able.settle()
    post(api, f"instances/{instance['id']}/restart", {"secrets": {"HF_TOKEN": PLANTED + "2"}})
    assert sign(bob).get(f"/api/v1/instances/{instance['id']}").status_code == 404
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text LIKE %s', [f"%{PLANTED}%"])
            assert cursor.fetchone()[0] == 0, table
            hexed = PLANTED.encode().hex()
            cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text LIKE %s', [f"%{hexed}%"])
            assert cursor.fetchone()[0] == 0, table


class Script:
    """What a report says of a start script."""

    def __init__(self, state: str, exit_code: int | None = None) -> None:
        self.state, self.exit_code = state, exit_code


def test_what_the_host_reports_is_shown(api: Client, able: FakeHost) -> None:
    instance = rented(api, able, **SETTINGS).json()
    able.settle()
    row = Instance.objects.get()

    def report(script: Script, ready: str, generation: int = row.run_generation) -> None:
        reported = ObservedRow(row.pk, generation, "running", on_start=script, ready=ready)
        record_launch_reports(host_id=row.host_id, rows=[reported], at=row.created_at)

    report(Script("running"), "starting")
    shown = api.get(f"/api/v1/instances/{instance['id']}").json()["launch_status"]
    assert (shown["on_start"], shown["exit_code"], shown["ready"], shown["ready_at"]) == ("running", None, "starting", None)
    report(Script("ended", 3), "ready")
    report(Script("running"), "not_ready")  # a host that takes it back, and says it again
    report(Script("ended", 3), "ready")
    shown = api.get(f"/api/v1/instances/{instance['id']}").json()["launch_status"]
    assert (shown["on_start"], shown["exit_code"], shown["ready"]) == ("ended", 3, "ready")
    kinds = [event["kind"] for event in api.get(f"/api/v1/instances/{instance['id']}/events").json()["results"]]
    assert (kinds.count("ready"), kinds.count("on_start_failed")) == (1, 1)
    report(Script("ended", 0), "", generation=row.run_generation + 1)
    assert LaunchStatus.objects.get().exit_code == 3
    assert json.dumps(kinds)
