"""Webhooks from the API to a program that listens: signed, repeated, rotated, paused; only what did happen is told."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client

from accounts.constants import WEBHOOK_EVENTS_KEPT, WEBHOOK_KINDS, WEBHOOK_PAUSED_AFTER
from accounts.models import User, Webhook, WebhookDelivery, WebhookEvent
from accounts.web.webhooks.forms import FAULT_LABELS, KIND_LABELS
from accounts.webhooks.outbox import emit
from accounts.webhooks.sending import delete_old_webhook_events, send_webhooks
from common import clock
from common.db.transactions import use_case
from common.ids import public_id
from tests.accounts.receiver import Receiver, listening
from tests.architecture.source import ROOT

Bearer = Callable[..., Client]
START = datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def loopback_opened(settings: Any) -> None:
    settings.OUTBOUND_ALLOWED_NETWORKS = ["127.0.0.0/8"]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with listening() as program:
        yield program


@pytest.fixture
def api(alice: User, bearer: Bearer) -> Client:
    return bearer(alice)


def send(client: Client, method: str, path: str, body: object = None, **headers: str) -> Any:
    return client.generic(method, f"/api/v1{path}", json.dumps(body), content_type="application/json", headers=headers)


def added(client: Client, receiver: Receiver, **fields: object) -> dict[str, Any]:
    reply = send(client, "POST", "/webhooks", {"url": receiver.url, **fields})
    assert reply.status_code == 201, reply.content
    return dict(reply.json())


def happen(user: User, kind: str = "instance.started", **payload: object) -> None:
    with use_case():
        emit(user_id=user.pk, kind=kind, payload=payload)


def test_from_the_order_to_the_program(api: Client, alice: User, bob: User, receiver: Receiver) -> None:
    hook = added(api, receiver, description="mine")
    happen(alice, instance="inst_1", name="训练")
    happen(bob)
    assert send_webhooks(now=clock.now()) == 1
    message = receiver.message()
    assert (message["type"], message["data"]) == ("instance.started", {"instance": "inst_1", "name": "训练"})
    assert message["id"] == receiver.heard[0][0]["webhook-id"]
    assert receiver.trusts(hook["secret"])
    assert not receiver.trusts("whsec_" + "A" * 44)
    row = send(api, "GET", f"/webhooks/{hook['id']}/deliveries").json()["results"][0]
    assert (row["status"], row["attempts"], row["fault"], row["next_attempt_at"]) == (204, 1, "", None)
    assert row["delivered_at"]
    assert send_webhooks(now=clock.now()) == 0
    assert "secret" not in send(api, "GET", f"/webhooks/{hook['id']}").json()


def test_only_what_was_asked_for_and_what_was_committed(api: Client, alice: User, receiver: Receiver) -> None:
    added(api, receiver, kinds=["instance.failed"])
    happen(alice, "instance.started")
    happen(alice, "instance.failed")
    with pytest.raises(RuntimeError), use_case():
        emit(user_id=alice.pk, kind="instance.failed", payload={"rolled": "back"})
        raise RuntimeError
    send_webhooks(now=clock.now())
    assert receiver.kinds == ["instance.failed"]
    assert WebhookEvent.objects.count() == 1


def test_tried_for_a_day_and_then_given_up(api: Client, alice: User, receiver: Receiver) -> None:
    """And once more by hand, with the same id, when the receiver is mended."""
    with time_machine.travel(START, tick=False) as traveller:
        hook = added(api, receiver)
        receiver.status = 503
        happen(alice)
        tries = []
        while (due := WebhookDelivery.objects.get().due_at) is not None:
            traveller.move_to(due)
            tries.append((due - START).total_seconds())
            send_webhooks(now=clock.now() - timedelta(seconds=1))  # not due yet
            send_webhooks(now=clock.now())
        assert tries == [0, 10, 70, 370, 1270, 4870, 12070, 26470, 55270, 84070]
        assert len(receiver.heard) == len(tries)
        assert len({headers["webhook-id"] for headers, _ in receiver.heard}) == 1
        assert all(receiver.trusts(hook["secret"], place) for place in range(len(tries)))
        row = send(api, "GET", f"/webhooks/{hook['id']}/deliveries").json()["results"][0]
        assert (row["fault"], row["status"], row["delivered_at"]) == ("status", 503, None)
        assert row["gave_up_at"]
        assert send(api, "GET", f"/webhooks/{hook['id']}").json()["failing_since"]
        receiver.status = 200
        assert send(api, "POST", f"/webhooks/{hook['id']}/deliveries/{row['id']}/again").status_code == 202
        assert send_webhooks(now=clock.now()) == 1
        assert send(api, "GET", f"/webhooks/{hook['id']}").json()["failing_since"] is None


def test_a_new_secret_leaves_a_day_to_change_over(api: Client, alice: User, receiver: Receiver) -> None:
    with time_machine.travel(START, tick=False) as traveller:
        hook = added(api, receiver)
        old, path = hook["secret"], f"/webhooks/{hook['id']}/rotate"
        first = send(api, "POST", path, **{"Idempotency-Key": "one"}).json()
        again = send(api, "POST", path, **{"Idempotency-Key": "one"}).json()
        assert (again["id"], again["secret"]) == (first["id"], None)
        happen(alice)
        send_webhooks(now=clock.now())
        assert receiver.trusts(old) and receiver.trusts(first["secret"])
        traveller.shift(timedelta(hours=24))
        happen(alice)
        send_webhooks(now=clock.now())
        assert not receiver.trusts(old) and receiver.trusts(first["secret"])
        second = send(api, "POST", path).json()["secret"]
        third = send(api, "POST", path).json()["secret"]
        happen(alice)
        send_webhooks(now=clock.now())
        assert [receiver.trusts(secret) for secret in (first["secret"], second, third)] == [False, True, True]


def test_a_slow_receiver_delays_no_other_and_a_failing_one_is_asked_once_at_a_time(
    api: Client, alice: User, bob: User, bearer: Bearer, receiver: Receiver
) -> None:
    with listening() as quick:
        added(api, receiver)
        added(bearer(bob), quick)
        Webhook.objects.filter(user=alice).update(failing_since=clock.now())
        for _ in range(8):
            happen(alice)
            happen(bob)
        receiver.status = 500
        assert send_webhooks(now=clock.now()) == 5
        assert (len(receiver.heard), len(quick.heard)) == (1, 5)


def test_a_receiver_that_fails_for_days_is_paused(api: Client, alice: User, receiver: Receiver) -> None:
    hook = added(api, receiver)
    Webhook.objects.update(failing_since=clock.now() - WEBHOOK_PAUSED_AFTER)
    receiver.status = 404
    happen(alice)
    send_webhooks(now=clock.now())
    assert send(api, "GET", f"/webhooks/{hook['id']}").json()["paused"] is True
    happen(alice)
    assert WebhookEvent.objects.count() == 1
    receiver.status = 200
    resumed = send(api, "PATCH", f"/webhooks/{hook['id']}", {"paused": False}).json()
    assert (resumed["paused"], resumed["failing_since"]) == (False, None)
    assert send_webhooks(now=clock.now() + timedelta(minutes=1)) == 1


def test_redirects_and_inner_addresses_are_faults_in_the_log(
    api: Client, alice: User, receiver: Receiver, settings: Any
) -> None:
    added(api, receiver)
    receiver.status, receiver.headers = 302, {"Location": "http://169.254.169.254/"}
    happen(alice)
    send_webhooks(now=clock.now())
    assert WebhookDelivery.objects.get().fault == "redirect"
    settings.OUTBOUND_ALLOWED_NETWORKS = []
    send_webhooks(now=clock.now() + timedelta(minutes=1))
    assert (WebhookDelivery.objects.get().fault, len(receiver.heard)) == ("not_public", 1)


def test_what_is_refused(api: Client, alice: User, receiver: Receiver, settings: Any) -> None:
    wrong = send(api, "POST", "/webhooks", {"url": "https://10.0.0.1/", "kinds": []})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (400, "url")
    assert send(api, "POST", "/webhooks", {"url": receiver.url, "kinds": ["no.such"]}).status_code == 400
    assert send(api, "POST", "/webhooks?dry_run=true", {"url": receiver.url}).json()["secret"] is None
    assert not Webhook.objects.exists()
    hooks = [added(api, receiver) for _ in range(10)]
    assert send(api, "POST", "/webhooks", {"url": receiver.url}).json()["code"] == "too_many"
    settings.OUTBOUND_ALLOWED_NETWORKS = []
    moved = send(api, "PATCH", f"/webhooks/{hooks[0]['id']}", {"url": receiver.url})
    assert moved.status_code == 400
    assert send(api, "DELETE", f"/webhooks/{hooks[0]['id']}").status_code == 204
    assert send(api, "GET", f"/webhooks/{hooks[0]['id']}").status_code == 404
    send(api, "PATCH", f"/webhooks/{hooks[1]['id']}", {"paused": True})
    assert send(api, "POST", f"/webhooks/{hooks[1]['id']}/test").status_code == 400


def test_old_events_go(api: Client, alice: User, receiver: Receiver) -> None:
    added(api, receiver)
    happen(alice)
    delete_old_webhook_events(now=clock.now() + WEBHOOK_EVENTS_KEPT - timedelta(minutes=1))
    assert WebhookEvent.objects.count() == 1
    delete_old_webhook_events(now=clock.now() + WEBHOOK_EVENTS_KEPT + timedelta(minutes=1))
    assert not WebhookDelivery.objects.exists()


def test_the_pages(client: Client, alice: User, mallory: User, receiver: Receiver) -> None:
    client.force_login(alice)
    refused = client.post("/settings/webhooks", {"url": "https://192.168.1.1/"})
    assert (refused.status_code, b"public" in refused.content) == (400, True)
    made = client.post("/settings/webhooks", {"url": receiver.url, "kinds": ["alert.raised"], "description": "pager"})
    assert b"whsec_" in made.content
    assert b"whsec_" not in client.get("/settings/webhooks").content
    hook = Webhook.objects.get()
    path = f"/settings/webhooks/{public_id('hook', hook.pk)}"
    client.post(f"{path}/test")
    send_webhooks(now=clock.now())
    assert receiver.kinds == ["webhook.test"]
    log = client.get(f"{path}/deliveries").content.decode()
    assert "webhook.test" in log and "204" in log
    delivery = WebhookDelivery.objects.get()
    client.post(f"{path}/deliveries/{public_id('dlv', delivery.pk)}/again")
    send_webhooks(now=clock.now())
    assert len(receiver.heard) == 2
    assert b"whsec_" in client.post(f"{path}/rotate").content
    assert client.get(f"{path}/rotate").status_code == 302
    client.post(f"{path}/pause")
    hook.refresh_from_db()
    assert hook.paused_at
    client.post(f"{path}/resume")
    client.post(path, {"url": receiver.url, "description": "desk", "kinds": []})
    hook.refresh_from_db()
    assert hook.paused_at is None
    assert (hook.description, list(hook.kinds)) == ("desk", [])
    client.force_login(mallory)
    assert client.get(path).status_code == client.post(f"{path}/remove").status_code == 404
    client.force_login(alice)
    client.post(f"{path}/remove")
    assert not Webhook.objects.exists()


def test_every_kind_that_is_emitted_is_offered_and_has_words() -> None:
    folders = [ROOT / app for app in ("accounts", "billing", "marketplace", "storage", "instances")]
    files = [file.read_text(encoding="utf-8") for folder in folders for file in folder.rglob("*.py")]
    emitted = {kind for text in files for kind in re.findall(r'\bemit\([^()]*kind="([^"]+)"', text)}
    assert {"alert.raised", "instance.preempt_notice"} <= emitted
    assert emitted <= set(WEBHOOK_KINDS)
    assert set(KIND_LABELS) == set(WEBHOOK_KINDS)
    assert "not_public" in FAULT_LABELS
