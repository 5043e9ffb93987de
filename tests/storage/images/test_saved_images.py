"""Saved images: ordered of the host, concluded once, shared version by version, deleted where they lie."""

import json
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from accounts.models import User
from common import clock
from common.ids import public_id
from instances.host_reports.operation_results import apply_results
from instances.lifecycle.save_image import count_image_uses
from instances.models import Instance
from storage.constants import SAVED_ON_HOST_AT_MOST
from storage.images.save import repair_images
from storage.models import Image, Operation
from storage.operations.services import OperationRow, fail_overdue, record_operations
from storage.states import ImageState
from tests.billing.money import UNIT, grant
from tests.host_messages import message_of
from tests.instances.fake_host import FakeHost, base_image, order_running
from tests.storage.images.test_named_images import as_user, post

pytestmark = pytest.mark.django_db


@pytest.fixture
def running(alice: User, hana: User) -> tuple[FakeHost, Instance]:
    base_image()
    grant(alice, 1000 * UNIT)
    host = FakeHost(hana)
    return host, order_running(alice, host)


def answer(host_id: UUID, kind: str, phase: str = "done", **outcome: str) -> None:
    """As the host's agent ends its order."""
    operation = Operation.objects.get(kind=kind, ended_at=None)
    row = OperationRow(
        operation.pk, phase, failure_code="" if phase == "done" else "save_failed", detail=message_of("d"), outcome=outcome
    )
    record_operations(host_id=host_id, rows=[row], at=clock.now())
    apply_results()


def save(client: Client, instance: Instance, name: str = "My torch") -> Any:
    headers = {"Idempotency-Key": name.replace(" ", "-") + "!"}
    return post(client, f"/instances/{public_id('inst', instance.pk)}/save-image", {"name": name}, **headers)


def test_saved_rented_with_shared_and_deleted(
    running: tuple[FakeHost, Instance], alice: User, bob: User, hana: User
) -> None:
    host, instance = running
    client = as_user(alice)
    made = save(client, instance)
    assert made.status_code == 202, made.content
    image = made.json()
    assert (image["state"], image["source"], image["has_jupyter"]) == ("saving", "saved", True)
    assert save(client, instance).json() == image
    assert save(client, instance, "another").json()["code"] == "image_being_saved"
    order = Operation.objects.get(kind="save_image")
    assert order.args["instance"] == instance.pk.hex
    assert order.args["reference"].startswith("berth-saved/")
    # Not before it is ready.
    sync_request = {"offer": public_id("offr", host.offer.pk), "image": image["id"]}
    assert post(client, "/quotes", sync_request).status_code == 404
    answer(host.host.pk, "save_image", reference=order.args["reference"], size_bytes="421000000", digest="")
    ready = client.get(f"/api/v1/images/{image['id']}").json()
    assert (ready["state"], ready["size_bytes"], ready["host"]) == ("ready", 421_000_000, public_id("host", host.host.pk))
    assert post(client, "/quotes", sync_request).status_code == 201
    elsewhere = {"offer": public_id("offr", FakeHost(hana).offer.pk), "image": image["slug"]}
    assert (reply := post(client, "/quotes", elsewhere)).status_code == 409, reply.content
    assert reply.json()["code"] == "image_elsewhere"
    assert_shared(client, image, sync_request, bob)
    gone = client.delete(f"/api/v1/images/{image['id']}")
    assert (gone.status_code, gone.json()["state"]) == (202, "dropping")
    assert post(client, "/quotes", sync_request).status_code == 404
    answer(host.host.pk, "drop_image")
    assert Image.objects.get(saved_from=instance.pk).state == ImageState.GONE
    assert client.get("/api/v1/images?source=own").json()["results"] == []


@pytest.mark.parametrize("registry", ["registry.example", ""])
def test_where_an_image_lies_is_not_its_host_s_to_say(
    running: tuple[FakeHost, Instance], alice: User, settings: Any, registry: str
) -> None:
    """Other hosts load it from there, with a login for it: an agent that names another place gets neither."""
    settings.MARKET_REGISTRY = registry
    host, instance = running
    save(as_user(alice), instance)
    digest = f"sha256:{'d' * 64}"
    answer(host.host.pk, "save_image", reference=f"evil.example/x@{digest}", size_bytes="1", digest=digest)
    image = Image.objects.get(saved_from=instance.pk)
    path = f"saved/{alice.pk.hex}/{image.pk.hex}"
    here = (f"berth-saved/{image.pk.hex}:1", host.host.pk, "")
    there = (f"{registry}/{path}@{digest}", None, digest)
    assert (image.reference, image.host_id, image.digest) == (there if registry else here)


def assert_shared(client: Client, image: dict[str, Any], sync_request: dict[str, Any], bob: User) -> None:
    path, other = f"/images/{image['id']}/share", as_user(bob)
    assert post(other, "/quotes", sync_request).status_code == 404
    assert post(other, path, {"name": "stolen"}).status_code == 404
    shared = post(client, path, {"name": "Torch Nightly", "description": "Fresh"}).json()["community"]
    assert (shared["name"], shared["version"], shared["owner"]) == ("torch-nightly", 1, "Alice")
    listed = Client().get("/api/v1/images?source=community").json()["results"]
    assert [row["id"] for row in listed] == [image["id"]]
    assert post(other, "/quotes", sync_request).status_code == 201
    assert "Torch Nightly" in Client().get("/images/community").content.decode()
    page = client.delete(f"/api/v1{path}")
    assert page.json()["community"] is None
    assert Client().get("/api/v1/images?source=community").json()["results"] == []
    assert post(other, "/quotes", sync_request).status_code == 404


def test_a_host_keeps_a_few_images_of_one_person(running: tuple[FakeHost, Instance], alice: User, settings: Any) -> None:
    """Each may take as much of its disk as a system disk, and costs nothing; the market's registry has room for more."""
    host, instance = running
    client = as_user(alice)
    for number in range(SAVED_ON_HOST_AT_MOST):
        assert save(client, instance, f"v{number}").status_code == 202
        answer(host.host.pk, "save_image", reference="r", size_bytes="1", digest="")
    refused = save(client, instance, "one more")
    assert (refused.status_code, refused.json()["code"]) == (409, "too_many")
    first = Image.objects.get(title="v0")
    client.delete(f"/api/v1/images/{public_id('img', first.pk)}")
    assert save(client, instance, "still there").status_code == 409
    answer(host.host.pk, "drop_image")
    settings.MARKET_REGISTRY = "registry.example"
    assert save(client, instance, "elsewhere").status_code == 202
    answer(host.host.pk, "save_image", "failed")
    settings.MARKET_REGISTRY = ""
    assert save(client, instance, "again").status_code == 202


def test_versions_of_one_name_and_names_of_others(running: tuple[FakeHost, Instance], alice: User, bob: User) -> None:
    host, instance = running
    client = as_user(alice)
    ids = []
    for number in (1, 2):
        ids.append(save(client, instance, f"v{number}").json()["id"])
        answer(host.host.pk, "save_image", reference="r", size_bytes="1", digest="")
        assert post(client, f"/images/{ids[-1]}/share", {"name": "mine"}).json()["community"]["version"] == number
    assert post(client, f"/images/{ids[0]}/share", {"name": "mine"}).json()["community"]["version"] == 1
    theirs = Image.objects.create(slug="b", title="B", reference="b@x", owner=bob, source="named", official=False)
    taken = post(as_user(bob), f"/images/{public_id('img', theirs.pk)}/share", {"name": "mine"})
    assert (taken.status_code, taken.json()["code"]) == (409, "image_name_taken")
    count_image_uses()
    assert Image.objects.get(slug="berth-base").use_count == 1
    assert count_image_uses() == 0


def test_what_fails_or_takes_too_long_is_said(running: tuple[FakeHost, Instance], alice: User) -> None:
    host, instance = running
    client = as_user(alice)
    first = save(client, instance, "a").json()
    answer(host.host.pk, "save_image", "failed")
    seen = client.get("/api/v1/images?source=own").json()["results"][0]
    assert (seen["id"], seen["state"], seen["failure"]) == (first["id"], "failed", "d")
    save(client, instance, "b")
    fail_overdue(now=Operation.objects.get(ended_at=None).deadline)
    apply_results()
    assert Image.objects.get(title="b").state == ImageState.FAILED
    assert client.delete(f"/api/v1/images/{first['id']}").json()["state"] == "gone"


def test_a_deletion_is_asked_for_until_its_host_has_done_it(running: tuple[FakeHost, Instance], alice: User) -> None:
    host, instance = running
    client = as_user(alice)
    image = save(client, instance, "a").json()
    answer(host.host.pk, "save_image", reference="r", size_bytes="1", digest="")
    client.delete(f"/api/v1/images/{image['id']}")
    assert repair_images() == 0
    answer(host.host.pk, "drop_image", "failed")
    assert repair_images() == 1
    answer(host.host.pk, "drop_image")
    assert Image.objects.get(title="a").state == ImageState.GONE
    assert repair_images() == 0


def test_only_its_renter_saves_it_and_only_while_it_is_there(
    running: tuple[FakeHost, Instance], alice: User, mallory: User
) -> None:
    _host, instance = running
    assert save(as_user(mallory), instance).status_code == 404
    assert save(as_user(alice), instance, " ").status_code == 400
    Instance.objects.filter(pk=instance.pk).update(desired="gone")
    client = as_user(alice)
    client.delete(f"/api/v1/instances/{public_id('inst', instance.pk)}")
    assert save(client, instance).json()["code"] == "unlawful_action"


def test_the_pages(running: tuple[FakeHost, Instance], alice: User) -> None:
    host, instance = running
    browser = Client()
    browser.force_login(alice)
    id_text = public_id("inst", instance.pk)
    assert browser.post(f"/instances/{id_text}/save-image", {"name": "Snap"}).status_code == 302
    assert "Snap" in browser.get("/images").content.decode()
    answer(host.host.pk, "save_image", reference="r", size_bytes="421000000", digest="")
    page = browser.get("/images").content.decode()
    assert host.host.name in page
    image = Image.objects.get(title="Snap")
    assert browser.post(f"/images/{public_id('img', image.pk)}/share", {"name": "snap"}).status_code == 302
    assert "snap, version 1" in browser.get("/images").content.decode()
    offer = public_id("offr", host.offer.pk)
    assert "Snap" in browser.get(f"/offers/{offer}/rent?image={image.slug}").content.decode()
    wrong = browser.post("/images/add", {"name": "NOT A NAME"})
    assert wrong.status_code == 400
    assert "docker pull" in wrong.content.decode()
    assert browser.post("/images/registries", {"host": "x", "username": "a", "password": "b"}).status_code == 400
    assert browser.get("/images/community?q=snap").content.decode().count("version 1") == 1
    assert browser.post(f"/images/{public_id('img', image.pk)}/unshare").status_code == 302
    assert browser.post(f"/images/{public_id('img', image.pk)}/remove").status_code == 302
    assert json.loads(Client().get("/api/v1/images?source=community").content)["results"] == []
