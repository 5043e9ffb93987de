"""Images by name against a registry over real HTTP: pinned, judged, refused in words, read again before a rent."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accounts.constants import SCOPES
from accounts.models import User
from accounts.tokens.services import issue_token
from common import clock
from common.ids import public_id
from instances.constants import UNTOUCHED_ONLY
from instances.lifecycle.host_faults import party_at_fault
from instances.models import Instance
from instances.states import FaultOf
from marketplace.models import Host
from storage.clients.oci_registry.references import parse_name, parse_registry
from storage.images.selectors import active_images, images_from, images_to_prefetch
from storage.models import Image, Registry
from storage.states import ImageSource
from tests.instances.fake_host import FakeHost
from tests.storage.stub_registry import StubRegistry

pytestmark = pytest.mark.django_db


@pytest.fixture
def registry(settings: Any) -> Iterator[StubRegistry]:
    settings.OUTBOUND_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with StubRegistry() as running:
        yield running


def as_user(user: User) -> Client:
    _, text = issue_token(user=user, name="t", scopes=list(SCOPES))
    return Client(headers={"authorization": f"Bearer {text}"})


def post(client: Client, path: str, body: dict[str, Any], **headers: str) -> Any:
    return client.post(f"/api/v1{path}", json.dumps(body), content_type="application/json", headers=headers)


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("ubuntu", "docker.io/library/ubuntu:latest"),
        ("pytorch/pytorch:2.4.0", "docker.io/pytorch/pytorch:2.4.0"),
        (" ghcr.io/Org".lower() + "/x/y:v1 ", "ghcr.io/org/x/y:v1"),
        ("localhost:5000/a", "localhost:5000/a:latest"),
        ("quay.io/a/b@sha256:" + "a" * 64, "quay.io/a/b@sha256:" + "a" * 64),
    ],
)
def test_names_are_read_as_engines_read_them(text: str, full: str) -> None:
    assert parse_name(text).text == full


@pytest.mark.parametrize(
    "text", ["", "UPPER/case", "a b", "a@sha256:xyz", "a/../b", "a:" + "t" * 200, "http://x/y", "evil.example/a?x=1", "-/a"]
)
def test_what_is_no_name_is_refused(alice: User, text: str) -> None:
    reply = post(as_user(alice), "/images", {"name": text or " "})
    assert (reply.status_code, reply.json()["code"]) == (400, "invalid_input")


def test_registries_are_named_by_host() -> None:
    assert [parse_registry(text) for text in ("https://GHCR.io/", "docker.io", "hub.docker.com")] == [
        "ghcr.io",
        "docker.io",
        "docker.io",
    ]


def test_an_image_by_name_is_pinned_and_described(registry: StubRegistry, alice: User, bob: User) -> None:
    digest = registry.add(
        "team/torch", "2.4", sizes=[3_000_000_000], index=["arm64", "amd64"], Env=["CUDA_VERSION=12.4.1", "X=1"]
    )
    client = as_user(alice)
    made = post(client, "/images", {"name": f"{registry.host}/team/torch:2.4", "title": "Torch"}, **{"Idempotency-Key": "k"})
    assert made.status_code == 201, made.content
    image = made.json()
    assert (image["digest"], image["reference"]) == (digest, f"{registry.host}/team/torch@{digest}")
    assert (image["cuda"], image["size_bytes"], image["architectures"]) == ("12.4", 3_000_000_000, ["amd64", "arm64"])
    assert (image["own"], image["has_ssh"], image["private"], image["state"]) == (True, False, False, "ready")
    again = post(
        client, "/images", {"name": f"{registry.host}/team/torch:2.4", "title": "Torch"}, **{"Idempotency-Key": "k"}
    )
    assert again.json() == image
    assert [row["id"] for row in client.get("/api/v1/images?source=own").json()["results"]] == [image["id"]]
    # Nobody else's business.
    assert as_user(bob).get(f"/api/v1/images/{image['id']}").status_code == 404
    assert image["id"] not in str(as_user(bob).get("/api/v1/images").json())
    assert image["id"] not in str(Client().get("/api/v1/images").json())


def test_a_dry_run_adds_nothing(registry: StubRegistry, alice: User) -> None:
    registry.add("a/b")
    assert post(as_user(alice), "/images?dry_run=true", {"name": f"{registry.host}/a/b"}).json()["own"] is True
    assert not Image.objects.filter(owner=alice).exists()


def test_fault_037_each_refusal_has_its_code_and_stores_nothing(registry: StubRegistry, alice: User) -> None:
    registry.add("arm/only", index=["arm64"])
    registry.add("arm/plain", architecture="arm64")
    registry.add("bomb/huge", sizes=[90_000_000_000])
    registry.add("bad/config", Env=["OTHER=1"])
    registry.manifests["bad/old", "latest"] = ("application/json", b'{"schemaVersion": 1, "fsLayers": []}')
    registry.manifests["bad/noise", "latest"] = ("application/json", b"\xff not json")
    config = json.loads(registry.manifests["bad/config", "latest"][1])["config"]["digest"]
    registry.blobs[config] = b'{"architecture": "amd64", "os": "linux"}'
    client = as_user(alice)
    seen = {}
    for name in ("no/such", "arm/only", "arm/plain", "bomb/huge", "bad/old", "bad/noise", "bad/config"):
        reply = post(client, "/images", {"name": f"{registry.host}/{name}"})
        seen[name] = (reply.status_code, reply.json()["code"])
    assert seen == {
        "no/such": (422, "image_missing"),
        "arm/only": (422, "image_wrong_architecture"),
        "arm/plain": (422, "image_wrong_architecture"),
        "bomb/huge": (422, "image_too_large"),
        "bad/old": (422, "image_unreadable"),
        "bad/noise": (422, "image_unreadable"),
        "bad/config": (422, "image_unreadable"),
    }
    for status, code in ((429, "registry_busy"), (500, "registry_unreachable")):
        registry.statuses = [status]
        assert post(client, "/images", {"name": f"{registry.host}/no/such"}).json()["code"] == code
    assert post(client, "/images", {"name": "127.0.0.1:1024/a"}).json()["code"] == "registry_unreachable"
    assert not Image.objects.filter(owner=alice).exists()


def test_fault_098_a_registry_may_not_be_the_market_s_own_network(alice: User, settings: Any) -> None:
    settings.OUTBOUND_ALLOWED_NETWORKS = []
    for host in ("127.0.0.1:5000", "169.254.169.254", "10.0.0.1:5000", "localhost:5000", "192.168.1.1"):
        reply = post(as_user(alice), "/images", {"name": f"{host}/a/b"})
        assert (reply.status_code, reply.json()["code"]) == (422, "registry_unreachable"), host
        assert reply.json()["reason"] in ("not_public", "bad_port"), reply.json()


def test_fault_098_where_a_registry_sends_us_is_checked_too_and_hears_no_login(
    registry: StubRegistry, alice: User, settings: Any
) -> None:
    with StubRegistry() as other:
        registry.add("team/x")
        other.blobs = dict(registry.blobs)
        registry.logins, registry.redirect_to = {"ann": "hush"}, f"http://{other.host}"
        client = as_user(alice)
        assert post(client, "/registries", {"host": registry.host, "username": "ann", "password": "hush"}).status_code == 201
        assert post(client, "/images", {"name": f"{registry.host}/team/x"}).status_code == 201
        assert [authorization for _, _, authorization in other.asked] == [""]
        settings.OUTBOUND_ALLOWED_NETWORKS = ["127.0.0.1/32"]
        registry.redirect_to = "http://127.0.0.2:80"
        assert post(client, "/images", {"name": f"{registry.host}/team/x"}).json()["code"] == "registry_unreachable"


@pytest.mark.parametrize("bearer", [False, True])
def test_a_private_registry(registry: StubRegistry, alice: User, bob: User, bearer: bool) -> None:
    registry.add("team/secret")
    registry.logins, registry.bearer = {"ann": "hush-hush"}, bearer
    client, name = as_user(alice), f"{registry.host}/team/secret"
    assert post(client, "/images", {"name": name}).json()["code"] == "image_private"
    wrong = post(client, "/registries", {"host": registry.host, "username": "ann", "password": "guess"})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "registry_login_refused")
    assert not Registry.objects.exists()
    saved = post(client, "/registries", {"host": registry.host, "username": "ann", "password": "hush-hush"})
    assert saved.status_code == 201
    assert "hush" not in saved.content.decode()
    assert "hush" not in Registry.objects.get().sealed_password
    image = post(client, "/images", {"name": name}).json()
    assert image["private"] is True
    # It cannot be shared, others cannot use her login, and without it nothing new can be rented.
    assert post(client, f"/images/{image['id']}/share", {"name": "x"}).json()["code"] == "image_not_shareable"
    assert post(as_user(bob), "/images", {"name": name}).json()["code"] == "image_private"
    assert client.delete(f"/api/v1/registries/{saved.json()['id']}").status_code == 204
    assert client.get("/api/v1/registries").json()["results"] == []


def test_a_registry_that_asks_nobody_for_a_login_tests_none(registry: StubRegistry, alice: User) -> None:
    reply = post(as_user(alice), "/registries", {"host": registry.host, "username": "a", "password": "b"})
    assert reply.json()["code"] == "registry_login_refused"


def test_fault_038_a_tag_that_moves(registry: StubRegistry, alice: User) -> None:
    """Who was rented with the old digest keeps it; the next one gets the new."""
    first = registry.add("team/app", "v1", Labels={"berth.services": "ssh,jupyter"})
    client, name = as_user(alice), f"{registry.host}/team/app:v1"
    old = post(client, "/images", {"name": name, "title": "App"}).json()
    assert (old["has_ssh"], old["has_jupyter"], old["has_tensorboard"]) == (True, True, False)
    second = registry.add("team/app", "v1", layers=[{"new": b"new"}])
    new = post(client, "/images", {"name": name}).json()
    assert first != second
    assert (new["digest"], new["slug"], new["title"]) == (second, old["slug"], "App")
    row = Image.objects.get(digest=first)
    assert (row.active, row.reference) == (False, f"{registry.host}/team/app@{first}")
    registry.manifests["team/app", "v1"] = registry.manifests["team/app", first]
    back = post(client, "/images", {"name": name}).json()
    assert (back["id"], back["slug"]) == (old["id"], old["slug"])
    assert len(client.get("/api/v1/images?source=own").json()["results"]) == 1


def test_an_image_that_calls_itself_official_is_its_owners(registry: StubRegistry, alice: User, hana: User) -> None:
    """Its labels are its maker's, and a host may tell of it as it likes: what is official is in the market's rows."""
    digest = registry.add("team/app", "v1", Labels={"berth.official": "1", "berth.services": "ssh"})
    reply = post(as_user(alice), "/images", {"name": f"{registry.host}/team/app:v1"}).json()
    image = Image.objects.get(digest=digest)
    Host.objects.filter(pk=FakeHost(hana).host.pk).update(images=[image.reference])
    assert (image.official, image.source, image.has_ssh) == (False, ImageSource.NAMED, True)
    assert image not in active_images() and image not in images_from("official", None)
    assert image.reference not in [reference for reference, _ in images_to_prefetch()]
    assert reply["id"] in {row["id"] for row in as_user(alice).get("/api/v1/images?source=own").json()["results"]}
    # Nor is a host to blame for what it brings along: only with a root of the market's own is nobody inside.
    instance = Instance(image=image)
    assert {party_at_fault(instance, code) for code in UNTOUCHED_ONLY} == {FaultOf.NOBODY}
    image.source = ImageSource.OFFICIAL
    assert {party_at_fault(instance, code) for code in UNTOUCHED_ONLY} == {FaultOf.HOST}


def test_a_quote_reads_a_name_again_that_was_not_read_lately(
    registry: StubRegistry, alice: User, hana: User, settings: Any
) -> None:
    offer = FakeHost(hana).offer
    registry.add("team/app", "v1")
    client = as_user(alice)
    image = post(client, "/images", {"name": f"{registry.host}/team/app:v1"}).json()
    sync_request = {"offer": public_id("offr", offer.pk), "image": image["slug"]}
    assert post(client, "/quotes", sync_request).status_code == 201
    request_count = len(registry.asked)
    assert post(client, "/quotes", sync_request).status_code == 201
    assert len(registry.asked) == request_count
    digest = registry.add("team/app", "v1", layers=[{"new": b"new"}])
    Image.objects.update(checked_at=clock.now() - timedelta(minutes=11))
    quoted = post(client, "/quotes", sync_request)
    assert quoted.status_code == 201
    assert Image.objects.get(slug=image["slug"]).digest == digest
    registry.manifests.clear()
    Image.objects.update(checked_at=clock.now() - timedelta(minutes=11))
    assert post(client, "/quotes", sync_request).json()["code"] == "image_missing"
