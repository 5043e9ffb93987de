"""Object storage as a script and a browser meet it: connections, syncs, schedules, archives before deletion."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.constants import SCOPES
from accounts.models import User, Webhook, WebhookEvent
from accounts.tokens.services import issue_token
from common import clock
from common.object_store import Place
from instances.enforcement.sweeps import purge_expired
from instances.host_reports.operation_results import apply_results
from instances.lifecycle.start import start_instance
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, InstanceEvent
from instances.object_sync.schedules import start_due_syncs
from instances.release.services import release_instance
from instances.retention.archive import start_due_archives
from instances.retention.mail import queue_archive_mails
from storage.clients.s3.client import ProbeResult
from storage.models import Connection, Operation, Sync, SyncSchedule
from storage.object_sync.connections import CheckedConnection, save_connection
from storage.operations.selectors import desired_operations
from storage.operations.services import OperationRow, record_operations
from tests.host_messages import with_message
from tests.instances.fake_host import FakeHost, order_running, reload
from tests.instances.fixtures import Clock
from tests.instances.volumes.test_volume_api import call, code, inst, make_volume, must, stopped
from tests.mails import sent
from tests.storage.object_store import BUCKET, REGION, ObjectStore

FIGURES = {"copied_bytes": "3000", "copied_files": "3", "same_files": "2", "deleted_files": "1"}


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with ObjectStore() as running:
        yield running


@pytest.fixture
def api(rin: User, host: FakeHost) -> Client:
    _, text = issue_token(user=rin, name="test", scopes=list(SCOPES))
    return Client(headers={"authorization": f"Bearer {text}"})


@pytest.fixture
def bucket(rin: User) -> Connection:
    """One that is not asked."""
    place = Place("https://s3.example.com", REGION, BUCKET, "berth", "AKIA", "very-secret")
    return save_connection(
        owner=rin, name="bucket", tried=CheckedConnection(place, ProbeResult(virtual_host=False, can_write=True))
    )


def conn(connection: Connection) -> str:
    return f"conn_{connection.pk.hex}"


def tell(host: FakeHost, phase: str, **fields: Any) -> None:
    """What the host's agent says of all that it is asked."""
    rows = [OperationRow(order.id, phase, **with_message(fields)) for order in desired_operations(host.host.pk)]
    record_operations(host_id=host.host.pk, rows=rows, at=clock.now())
    apply_results()


def events(instance: Instance) -> set[str]:
    return set(InstanceEvent.objects.filter(instance=instance).values_list("kind", flat=True))


def listen(user: User) -> None:
    Webhook.objects.create(user=user, url="https://9.9.9.9/", sealed_secret="")


def event_count(kind: str) -> int:
    return WebhookEvent.objects.filter(kind=kind).count()


def test_a_connection_is_tried_when_it_is_saved(api: Client, rin: User, store: ObjectStore, settings: Settings) -> None:
    place = {"name": "mine", "endpoint": store.endpoint, "bucket": BUCKET, "prefix": "/berth//data/"}
    login = {"key_id": store.key.key_id, "secret": store.key.secret}
    wish: dict[str, Any] = {**place, **login}
    assert code(call(api, "/storage-connections", wish)) == "422 storage_unreachable", "no public address"
    settings.OUTBOUND_ALLOWED_NETWORKS = [store.network]
    assert code(call(api, "/storage-connections", {**wish, "endpoint": "https://10.0.0.1"})) == "422 storage_unreachable"
    assert code(call(api, "/storage-connections", {**wish, "endpoint": "ftp://x"})) == "400 invalid_input"
    assert code(call(api, "/storage-connections", {**wish, "secret": "wrong"})) == "422 storage_login_refused"
    assert code(call(api, "/storage-connections", {**wish, "bucket": "not-there"})) == "422 bucket_missing"
    assert must(call(api, "/storage-connections?dry_run=true", wish), 200)["name"] == "mine"
    assert not Connection.objects.exists()
    made = must(call(api, "/storage-connections", wish), 201)
    assert (made["prefix"], made["can_write"], made["region"]) == ("berth/data", True, REGION)
    assert "secret" not in made
    assert store.key.secret not in Connection.objects.get().sealed_secret
    assert store.files() == {}, "what was tried is gone"
    assert code(call(api, "/storage-connections", wish)) == "409 connection_name_taken"
    reader = {"key_id": store.reader.key_id, "secret": store.reader.secret}
    path = f"/api/v1/storage-connections/{made['id']}"
    changed = must(api.put(path, reader, content_type="application/json"), 200)
    assert (changed["can_write"], changed["key_id"]) == (False, store.reader.key_id)
    assert code(api.put(path, {**reader, "secret": "no"}, content_type="application/json")) == "422 storage_login_refused"
    assert must(api.get(path), 200) == changed
    assert code(api.put("/api/v1/archive-default", {"connection": made["id"]}, content_type="application/json")) == (
        "409 connection_read_only"
    )
    assert api.delete(path).status_code == 204
    assert must(api.get("/api/v1/storage-connections"), 200)["results"] == []


def test_a_volume_is_synced_with_progress_and_one_at_a_time(
    api: Client, rin: User, host: FakeHost, bucket: Connection
) -> None:
    listen(rin)
    volume = make_volume(api, host)
    path, wish = f"/volumes/{volume['id']}/syncs", {"connection": conn(bucket), "direction": "up", "folder": "/a//b/"}
    assert code(call(api, path, {**wish, "path": "../up"})) == "400 invalid_input"
    begun = must(call(api, path, {**wish, "path": "models"}, idempotency_key="once"), 202)
    assert must(call(api, path, {**wish, "path": "models"}, idempotency_key="once"), 202)["id"] == begun["id"]
    assert (begun["state"], begun["folder"], begun["of"]["id"]) == ("running", "a/b", volume["id"])
    kept = Operation.objects.get(kind="sync_objects")
    assert "very-secret" not in str(kept.args) + kept.sealed_args
    (order,) = desired_operations(host.host.pk)
    assert order.args["secret"] == "very-secret"
    assert (order.args["remote"], order.args["path"], order.args["delete"]) == (f"{BUCKET}/berth/a/b", "models", "")
    assert code(call(api, path, wish)) == "409 volume_busy"
    assert code(call(api, "/snapshots", {"volume": volume["id"]})) == "409 volume_busy"
    tell(host, "running", done_bytes=50, total_bytes=200, done_files=1, total_files=4, detail="Copying.")
    shown = must(api.get(f"/api/v1/syncs/{begun['id']}"), 200)["progress"]
    assert (shown["percent"], shown["done_files"], shown["total_files"]) == (25, 1, 4)
    tell(host, "done", outcome=FIGURES)
    done = must(api.get(f"/api/v1/syncs/{begun['id']}"), 200)
    assert [done[name] for name in ("state", "copied_files", "same_files", "deleted_files")] == ["done", 3, 2, 1]
    assert event_count("sync.done") == 1
    second = must(call(api, path, {**wish, "direction": "down", "delete_extra": True}), 202)
    tell(host, "running", done_bytes=7, done_files=1, total_files=2)
    ended = must(call(api, f"/syncs/{second['id']}/cancel"), 202)
    assert (ended["state"], ended["copied_bytes"]) == ("cancelled", 7)
    assert must(call(api, f"/syncs/{second['id']}/cancel"), 202)["state"] == "cancelled"
    assert desired_operations(host.host.pk) == []
    third = must(call(api, path, wish), 202)
    tell(host, "failed", failure_code="storage_unreachable", detail="It does not answer.")
    failed = must(api.get(f"/api/v1/syncs/{third['id']}"), 200)
    fields = {"code": "english", "params": {"sentence": "It does not answer."}}
    assert failed["failure"] == {"code": "storage_unreachable", "detail": "It does not answer.", "message": fields}
    assert event_count("sync.failed") == 1
    listed = must(api.get(f"/api/v1{path}"), 200)["results"]
    assert {row["id"] for row in listed} == {third["id"], second["id"], begun["id"]}
    Connection.objects.update(can_write=False)
    assert code(call(api, path, wish)) == "409 connection_read_only"


def test_a_data_disk_is_synced_running_or_stopped_and_a_release_ends_it(
    api: Client, rin: User, host: FakeHost, bucket: Connection
) -> None:
    instance = order_running(rin, host)
    path, wish = f"/instances/{inst(instance)}/syncs", {"connection": conn(bucket), "direction": "up"}
    must(call(api, path, wish), 202)
    tell(host, "failed", failure_code="disk_full", detail="The disk is full.")
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    begun = must(call(api, path, wish), 202)
    assert {"sync_asked", "sync_failed"} <= events(instance)
    release_instance(renter=rin, instance_id=instance.pk)
    assert must(api.get(f"/api/v1/syncs/{begun['id']}"), 200)["state"] == "cancelled"
    assert desired_operations(host.host.pk) == []
    assert code(call(api, path, wish)) == "409 unlawful_action"


def test_a_schedule_comes_round_and_says_what_it_could_not_do(
    api: Client, rin: User, host: FakeHost, hours: Clock, bucket: Connection
) -> None:
    listen(rin)
    instance = order_running(rin, host)
    wish = {"connection": conn(bucket), "direction": "up", "instance": inst(instance)}
    assert code(call(api, "/sync-schedules", wish)) == "400 invalid_input"
    assert code(call(api, "/sync-schedules", {**wish, "days": ["mon"], "at": "03:00", "time_zone": "Moon"})) == (
        "400 invalid_input"
    )
    weekly = must(call(api, "/sync-schedules", {**wish, "days": ["mon"], "at": "03:00", "time_zone": "Asia/Shanghai"}), 201)
    assert weekly["next_at"] == "2025-03-02T19:00:00Z"
    assert api.delete(f"/api/v1/sync-schedules/{weekly['id']}").status_code == 204
    made = must(call(api, "/sync-schedules", {**wish, "every_hours": 6}), 201)
    assert start_due_syncs(now=clock.now()) == 0
    hours.advance(hours=6)
    assert start_due_syncs(now=clock.now()) == 1
    assert start_due_syncs(now=clock.now()) == 0
    assert Sync.objects.get().cause == "schedule"
    hours.advance(hours=6)
    assert start_due_syncs(now=clock.now()) == 0, "the one before still runs: it is waited for"
    hours.advance(minutes=16)
    assert start_due_syncs(now=clock.now()) == 1
    failed = Sync.objects.get(state="failed")
    assert (failed.failure_code, event_count("sync.failed")) == ("volume_busy", 1)
    assert "sync_failed" in events(instance)
    tell(host, "done", outcome=FIGURES)
    hours.advance(hours=6)
    assert start_due_syncs(now=clock.now()) == 1
    assert must(api.get("/api/v1/sync-schedules"), 200)["results"][0]["id"] == made["id"]
    release_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    hours.advance(hours=7)
    assert start_due_syncs(now=clock.now()) == 1
    assert not SyncSchedule.objects.exists(), "the disk is gone"


def archive_to(api: Client, connection: Connection) -> None:
    body = {"connection": conn(connection)}
    shown = must(api.put("/api/v1/archive-default", body, content_type="application/json"), 200)
    assert shown["connection_name"] == "bucket"


def sweep() -> None:
    start_due_archives(now=clock.now())
    purge_expired(now=clock.now())


def test_a_deletion_waits_for_its_archive(api: Client, rin: User, host: FakeHost, hours: Clock, bucket: Connection) -> None:
    listen(rin)
    archive_to(api, bucket)
    assert code(api.delete(f"/api/v1/storage-connections/{conn(bucket)}")) == "409 connection_in_use"
    instance = stopped(rin, host)
    path = f"/api/v1/instances/{inst(instance)}/archive"
    assert must(api.get(path), 200)["connection_name"] == "bucket"
    hours.advance(days=29)
    sweep()
    assert not Sync.objects.exists()
    hours.advance(days=1, seconds=1)
    sweep()
    sweep()
    sync = Sync.objects.get()
    assert (sync.cause, reload(instance).state) == ("archive", "stopped")
    assert sync.folder.startswith(f"archives/{inst(instance)}/")
    tell(host, "failed", failure_code="storage_unreachable", detail="It does not answer.")
    sweep()
    assert Sync.objects.count() == 1, "tried again in an hour"
    hours.advance(hours=1)
    sweep()
    tell(host, "failed", failure_code="storage_unreachable", detail="It does not answer.")
    assert queue_archive_mails(now=clock.now()) == 1, "of the first failure alone"
    assert queue_archive_mails(now=clock.now()) == 0
    assert "It does not answer." in sent()[-1].body
    hours.advance(hours=1)
    sweep()
    assert reload(instance).state == "stopped"
    tell(host, "done", outcome=FIGURES)
    assert must(api.get(path), 200)["archived_at"] is not None
    sweep()
    assert reload(instance).state == "releasing"
    assert {"archive_begun", "archive_failed", "archived"} <= events(instance)
    assert (event_count("instance.archived"), event_count("instance.archive_failed")) == (1, 2)
    queue_archive_mails(now=clock.now())
    assert sent()[-1].subject.endswith("was archived")


def test_an_instance_that_is_gone_holds_no_connection(api: Client, rin: User, host: FakeHost, bucket: Connection) -> None:
    instance = stopped(rin, host)
    chosen = {"archive": "on", "connection": conn(bucket)}
    must(api.put(f"/api/v1/instances/{inst(instance)}/archive", chosen, content_type="application/json"), 200)
    assert code(api.delete(f"/api/v1/storage-connections/{conn(bucket)}")) == "409 connection_in_use"
    release_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    assert api.delete(f"/api/v1/storage-connections/{conn(bucket)}").status_code == 204
    assert reload(instance).archive_choice == "off"


def test_an_archive_that_fails_for_three_days_is_given_up(
    api: Client, rin: User, host: FakeHost, hours: Clock, bucket: Connection
) -> None:
    archive_to(api, bucket)
    instance, other = stopped(rin, host), stopped(rin, host)
    path = f"/api/v1/instances/{inst(other)}/archive"
    assert must(api.put(path, {"archive": "off"}, content_type="application/json"), 200)["connection"] is None
    hours.advance(days=30, seconds=1)
    sweep()
    assert (reload(instance).state, reload(other).state) == ("stopped", "releasing")
    tell(host, "failed", failure_code="storage_full", detail="It is full.")
    hours.advance(days=2, hours=23)
    sweep()
    tell(host, "failed", failure_code="storage_full", detail="It is full.")
    assert reload(instance).state == "stopped"
    hours.advance(hours=1)
    sweep()
    assert reload(instance).state == "releasing"
    assert "archive_given_up" in events(instance)
    queue_archive_mails(now=clock.now())
    assert len(sent("was deleted without an archive")) == 1


def test_who_starts_again_keeps_the_data_though_it_is_being_archived(
    api: Client, rin: User, host: FakeHost, hours: Clock, bucket: Connection
) -> None:
    archive_to(api, bucket)
    instance = stopped(rin, host)
    hours.advance(days=30, seconds=1)
    sweep()
    start_instance(renter=rin, instance_id=instance.pk)
    tell(host, "done", outcome=FIGURES)
    host.settle()
    sweep()
    assert reload(instance).state == "running"
    hours.advance(hours=1)
    stop_instance(renter=rin, instance_id=instance.pk)
    host.settle()
    hours.advance(days=30, seconds=1)
    sweep()
    assert (reload(instance).state, Sync.objects.count()) == ("stopped", 2), "an archive of before does not count"


def test_a_walk_through_the_pages(client: Client, rin: User, host: FakeHost, store: ObjectStore, settings: Settings) -> None:
    settings.OUTBOUND_ALLOWED_NETWORKS = [store.network]
    assert client.get("/object-storage").status_code == 302, "for who is signed in alone"
    client.force_login(rin)
    see: Callable[[str], str] = lambda path: client.get(path).content.decode()  # noqa: E731  (a line, not a function)
    assert "No buckets connected yet" in see("/object-storage")
    login = {"key_id": store.key.key_id, "secret": store.key.secret}
    wish = {"name": "mine", "endpoint": store.endpoint, "bucket": BUCKET, **login}
    wrong = client.post("/object-storage/connections/new", {**wish, "secret": "wrong"})
    assert (wrong.status_code, "this access key" in wrong.content.decode()) == (422, True)
    assert "wrong" not in wrong.content.decode().replace("Something went wrong", ""), "a secret is never sent back"
    assert client.post("/object-storage/connections/new", wish).status_code == 302
    connection = Connection.objects.get()
    instance = order_running(rin, host)
    shown = see(f"/object-storage/syncs/new?source={inst(instance)}")
    assert "mine" in shown
    where = {"source": inst(instance), "connection": conn(connection), "path": "models"}
    order = {**where, "direction": "up", "repeat": "once"}
    assert client.post("/object-storage/syncs/new", {**order, "path": "../x"}).status_code == 400
    assert client.post("/object-storage/syncs/new", order).status_code == 302
    tell(host, "running", done_bytes=50, total_bytes=100, done_files=1, total_files=2)
    assert "1 of 2 files" in see("/object-storage")
    assert "Copying to object storage" in see(f"/instances/{inst(instance)}/disks")
    sync = Sync.objects.get()
    assert client.post(f"/object-storage/syncs/sync_{sync.pk.hex}/cancel").status_code == 302
    repeated = f"/object-storage/syncs/new?again=sync_{sync.pk.hex}"
    assert (repeated in see("/object-storage"), 'value="models"' in see(repeated)) == (True, True)
    daily = {"repeat": "days", "days": ["0", "1"], "at": "03:00", "time_zone": "Asia/Shanghai"}
    assert client.post("/object-storage/syncs/new", {**order, **daily}).status_code == 302
    assert "Asia/Shanghai" in see("/object-storage")
    plan = SyncSchedule.objects.get()
    assert client.post(f"/object-storage/schedules/plan_{plan.pk.hex}/remove").status_code == 302
    assert client.post("/object-storage/archive", {"connection": conn(connection)}).status_code == 302
    assert "Archived to mine before deletion" in see(f"/instances/{inst(instance)}/disks")
    assert client.post(f"/instances/{inst(instance)}/archive", {"archive": "off"}).status_code == 302
    assert "Deleted without an archive" in see(f"/instances/{inst(instance)}/disks")
    assert client.post(f"/object-storage/connections/{conn(connection)}/remove").status_code == 303, "archives go there"
    assert client.post("/object-storage/archive", {"connection": ""}).status_code == 302
    assert client.post(f"/object-storage/connections/{conn(connection)}/remove").status_code == 302
    assert not Connection.objects.exists()
