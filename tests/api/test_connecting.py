"""What opens an instance is told to who may connect, by no operation to anyone else, and by no repeated reply."""

import importlib
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client

from accounts.models import RememberedReply
from accounts.policy import SCOPES
from accounts.services.tokens import issue_token
from instances.models import Instance

from .test_strangers import ENDPOINTS, RULES, ask
from .world import Endpoint, World

CONNECT = "instances:connect"
WAYS_IN = ("/relay/v1/streams", "/relay/v1/download", "/relay/v1/web/", "/lab?token=")
KEYS_THAT_OPEN = {"jupyter_token", "jupyter_url", "tensorboard_url", "password", "ticket"}


def client_with(world: World, *scopes: str) -> Client:
    """The renter's program, with these scopes alone."""
    text = issue_token(user=world.renter, name="attempt", scopes=scopes)[1]
    return Client(headers={"authorization": f"Bearer {text}"})


def opened(value: object) -> Iterator[str]:
    """The fields of a reply that open something, wherever they are in it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in KEYS_THAT_OPEN and inner:
                yield key
            yield from opened(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from opened(inner)


def in_order(endpoint: Endpoint) -> int:
    """What reads first, what ends things last."""
    return ("GET", "PATCH", "PUT", "POST", "DELETE").index(endpoint.method)


@pytest.mark.parametrize("scope", [scope for scope in SCOPES if scope != CONNECT])
def test_no_operation_opens_an_instance_for_another_scope(world: World, scope: str) -> None:
    token = Instance.objects.get(pk=world.instance.pk).jupyter_token
    assert token
    client = client_with(world, scope)
    answered = 0
    for endpoint in sorted((one for one in ENDPOINTS if one.label in RULES), key=in_order):
        reply = ask(client, endpoint, world)
        text = reply.getvalue().decode(errors="replace")
        answered += reply.status_code < 300
        assert token not in text, endpoint.label
        assert not any(way in text for way in WAYS_IN), endpoint.label
        if reply.headers.get("Content-Type", "").endswith("json") and endpoint.label != "GET openapi":
            assert list(opened(reply.json())) == [], endpoint.label
    assert answered > 5


def test_who_may_connect_gets_in(world: World) -> None:
    token = Instance.objects.get(pk=world.instance.pk).jupyter_token
    address = f"/api/v1/instances/{world.ids['instance_id']}"
    client = client_with(world, CONNECT, "instances:read")
    assert client.get(f"{address}/access").json()["jupyter_token"] == token
    assert token in client.get(address).json()["access"]["jupyter_url"]
    assert token in client.get("/api/v1/instances").json()["results"][0]["access"]["jupyter_url"]
    for part, body in (("streams", {"kind": "terminal"}), ("web-links", {"port": 8888}), ("password", {})):
        reply = client.post(f"{address}/{part}", body, content_type="application/json")
        assert reply.status_code in (201, 409), reply.content  # 409: the market has no names for links


def test_a_repeated_reply_gives_what_its_asker_may_have(world: World) -> None:
    address = f"/api/v1/instances/{world.ids['instance_id']}/restart"
    key = {"Idempotency-Key": "once"}
    whole = client_with(world, "instances:write", CONNECT)
    first = whole.post(address, {}, "application/json", headers=key)
    assert first.status_code == 202, first.content
    token = Instance.objects.get(pk=world.instance.pk).jupyter_token
    assert token in first.json()["access"]["jupyter_url"]
    assert token not in RememberedReply.objects.get(key="once").body
    less = client_with(world, "instances:write").post(address, {}, "application/json", headers=key).json()
    assert list(opened(less)) == []
    assert less["access"]["ssh"] == first.json()["access"]["ssh"]
    assert whole.post(address, {}, "application/json", headers=key).content == first.content


def test_replies_remembered_before_open_nothing_any_more(world: World) -> None:
    kept = '{"id":"inst_1","access":{"ssh":null,"jupyter_url":"http://x:1/lab?token=abc","tensorboard_url":"http://x:2/"}}'
    RememberedReply.objects.create(user=world.renter, key="old", request_hash="0" * 64, status=201, body=kept)
    migration = importlib.import_module("accounts.migrations.0007_replies_that_open_nothing")
    with connection.cursor() as cursor:
        cursor.execute(migration.CLOSE)
    body = RememberedReply.objects.get(key="old").body
    assert body == '{"id":"inst_1","access":{"ssh":null,"jupyter_url":null,"tensorboard_url":null}}'
