"""Notification channels through the API and the pages: write-only credentials, limits, the test and its answer."""

import json
from typing import Any

import pytest
from django.test import Client

from accounts.models import AccountEvent, NotificationChannel, NotificationDelivery, User
from accounts.notification_channels.sending import send_notifications
from common import clock
from common.ids import public_id
from tests.accounts.notification_channels.conftest import Bearer
from tests.accounts.notification_channels.vendors import FINE, GIVEN, SECRETS, SLACK, TELEGRAM, Vendors

pytestmark = pytest.mark.django_db

API = "/api/v1/notification-channels"
PAGES = "/settings/notifications"


def ask(client: Client, method: str, path: str, body: object = None, **headers: str) -> Any:
    return client.generic(method, f"{API}{path}", json.dumps(body), content_type="application/json", headers=headers)


def added(client: Client, service: str = "slack", **fields: object) -> dict[str, Any]:
    reply = ask(client, "POST", "", {"service": service, "name": f"my {service}", **GIVEN[service], **fields})
    assert reply.status_code == 201, reply.content
    return dict(reply.json())


def deliver(vendors: Vendors) -> int:
    return send_notifications(now=clock.now(), transport=vendors.transport)


def no_secret(*replies: Any) -> bool:
    return not [secret for secret in SECRETS for reply in replies if secret.encode() in reply.content]


@pytest.mark.parametrize("service", sorted(GIVEN))
def test_add_test_and_read_the_answer(api: Client, vendors: Vendors, service: str) -> None:
    channel = added(api, service)
    assert (channel["service"], channel["kinds"], channel["paused"]) == (service, [], False)
    assert len(channel["ends_with"]) == 4
    sent = ask(api, "POST", f"/{channel['id']}/test")
    assert sent.status_code == 202
    vendors.answer = FINE[service]
    assert deliver(vendors) == 1
    path = f"/{channel['id']}/deliveries"
    row = ask(api, "GET", f"{path}/{sent.json()['id']}").json()
    assert (row["kind"], row["status"], row["fault"], row["answer"]) == ("notification.test", 200, "", FINE[service][1])
    assert ask(api, "POST", f"{path}/{row['id']}/again").status_code == 202
    assert deliver(vendors) == 1
    replies = [ask(api, "GET", at) for at in ("", f"/{channel['id']}", path)]
    assert no_secret(sent, *replies) and not set(GIVEN[service]) & set(channel)


def test_the_service_s_answer_is_shown_without_the_credentials(api: Client, vendors: Vendors) -> None:
    channel = added(api, "telegram")
    sent = ask(api, "POST", f"/{channel['id']}/test").json()
    vendors.answer = (404, json.dumps({"ok": False, "error_code": 404, "description": f"Not Found: bot{TELEGRAM}"}))
    deliver(vendors)
    reply = ask(api, "GET", f"/{channel['id']}/deliveries/{sent['id']}")
    assert reply.json()["fault"] == "credentials" and "Not Found: bot…" in reply.json()["answer"]
    assert no_secret(reply)


def test_change_one_credential_and_keep_the_others(api: Client, vendors: Vendors) -> None:
    channel = added(api, "telegram")
    changed = ask(api, "PATCH", f"/{channel['id']}", {"chat_id": "@my_channel", "kinds": ["alert.raised"], "name": "ops"})
    assert (changed.json()["ends_with"], changed.json()["kinds"], changed.json()["name"]) == (
        "nnel",
        ["alert.raised"],
        "ops",
    )
    ask(api, "POST", f"/{channel['id']}/test")
    vendors.answer = FINE["telegram"]
    deliver(vendors)
    assert vendors.heard[0].path == f"/bot{TELEGRAM}/sendMessage"
    assert vendors.heard[0].json()["chat_id"] == "@my_channel"
    kinds = list(AccountEvent.objects.order_by("at").values_list("kind", "subject"))
    assert kinds[-2:] == [("channel.added", "telegram: my telegram"), ("channel.changed", "telegram: ops")]
    assert ask(api, "DELETE", f"/{channel['id']}").status_code == 204
    assert ask(api, "GET", f"/{channel['id']}").status_code == 404


def test_pause_and_resume(api: Client, vendors: Vendors) -> None:
    channel = added(api)
    assert ask(api, "PATCH", f"/{channel['id']}", {"paused": True}).json()["paused"] is True
    refused = ask(api, "POST", f"/{channel['id']}/test")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "paused")
    assert ask(api, "PATCH", f"/{channel['id']}", {"paused": False}).json()["paused"] is False


def test_what_is_refused(api: Client, bob: User, bearer: Bearer, settings: Any) -> None:
    for body, field in (
        ({"service": "slack"}, "url"),
        ({"service": "slack", "url": "https://evil.example/services/T/B/x"}, "url"),
        ({"service": "slack", "url": SLACK, "token": "1"}, "token"),
        ({"service": "telegram", "token": TELEGRAM}, "chat_id"),
        ({"service": "json", "url": "https://10.0.0.1/"}, "url"),
        ({"service": "json", "url": "http://9.9.9.9/"}, "url"),
        ({"service": "icq", "url": SLACK}, "service"),
        ({"service": "slack", "url": SLACK, "kinds": ["no.such"]}, "kinds"),
        ({"service": "slack", "url": SLACK, "name": "\u202ex"}, "name"),
    ):
        reply = ask(api, "POST", "", {"name": "x", **body})
        assert (reply.status_code, reply.json()["errors"][0]["field"].partition(".")[0]) == (400, field), reply.content
        assert no_secret(reply)
    assert ask(api, "POST", "?dry_run=true", {"service": "slack", "name": "x", "url": SLACK}).status_code == 200
    assert not NotificationChannel.objects.exists()
    channels = [added(api) for _ in range(10)]
    one_more = ask(api, "POST", "", {"service": "slack", "name": "x", "url": SLACK})
    assert (one_more.status_code, one_more.json()["code"]) == (409, "too_many")
    assert ask(bearer(bob), "GET", f"/{channels[0]['id']}").status_code == 404
    assert ask(bearer(bob, "keys:read"), "GET", "").status_code == 403
    other = added(bearer(bob))
    strange = ask(api, "GET", f"/{other['id']}/deliveries")
    assert strange.status_code == 404


def test_a_repeated_request_adds_one(api: Client) -> None:
    body = {"service": "slack", "name": "x", "url": SLACK}
    first = ask(api, "POST", "", body, **{"Idempotency-Key": "one"})
    again = ask(api, "POST", "", body, **{"Idempotency-Key": "one"})
    assert first.json() == again.json()
    assert NotificationChannel.objects.count() == 1
    assert no_secret(first, again)


# -- pages


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_pages(client: Client, alice: User, mallory: User, vendors: Vendors, language: str) -> None:
    client.force_login(alice)
    client.post("/i18n/setlang/", {"language": language})
    empty = client.get(PAGES).content.decode()
    for service in NotificationChannel.Service.values:
        assert f"{PAGES}/add/{service}" in empty
        form = client.get(f"{PAGES}/add/{service}").content.decode()
        shown = {name for name in ("url", "token", "chat_id", "secret") if f'name="{name}"' in form}
        assert shown == set(GIVEN.get(service, {"url": "", "secret": ""}))
    assert client.get(f"{PAGES}/add/icq").status_code == 404
    refused = client.post(f"{PAGES}/add/slack", {"name": "ops", "url": "https://evil.example/"})
    assert (refused.status_code, b"hooks.slack.com/services/T000" in refused.content) == (400, True)
    made = client.post(f"{PAGES}/add/slack", {"name": "ops", "url": SLACK, "kinds": ["alert.raised"]})
    channel = NotificationChannel.objects.get()
    path = f"{PAGES}/{public_id('chan', channel.pk)}"
    assert made["Location"] == path
    client.post(f"{path}/test")
    vendors.answer = (404, "no_service")
    deliver(vendors)
    log, page = client.get(f"{path}/log"), client.get(path)
    assert b"no_service" in log.content and b"404" in log.content
    assert no_secret(made, log, page, client.get(PAGES))
    vendors.answer = FINE["slack"]
    delivery = NotificationDelivery.objects.get()
    client.post(f"{path}/log/{public_id('ntf', delivery.pk)}/again")
    assert deliver(vendors) == 1
    client.post(path, {"name": "desk", "url": "", "kinds": []})
    channel.refresh_from_db()
    assert (channel.name, list(channel.kinds)) == ("desk", [])
    wrong = client.post(path, {"name": "desk", "url": "https://evil.example/"})
    assert wrong.status_code == 400
    client.post(f"{path}/pause")
    channel.refresh_from_db()
    assert channel.paused_at
    client.post(f"{path}/resume")
    NotificationChannel.objects.update(stopped_for="channel_gone", paused_at=clock.now())
    assert b"note-warning" in client.get(path).content
    client.force_login(mallory)
    assert client.get(path).status_code == client.post(f"{path}/remove").status_code == 404
    client.force_login(alice)
    client.post(f"{path}/remove")
    assert not NotificationChannel.objects.exists()


def test_the_pages_say_what_the_limit_is(client: Client, alice: User, api: Client) -> None:
    for _ in range(10):
        added(api)
    client.force_login(alice)
    refused = client.post(f"{PAGES}/add/slack", {"name": "one more", "url": SLACK})
    assert refused.status_code == 400 and b"limit" in refused.content
