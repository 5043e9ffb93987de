"""`vastai copy`, `cloud copy` and `clone volume`: what a host copies, and the command for what it doesn't."""

from typing import Any

import pytest

from accounts.models import User
from common import clock
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from instances.volumes.transfers import advance_volume_transfers
from storage.models import Connection, Sync, Volume
from tests.instances.fake_host import FakeHost, order_running, refused
from tests.instances.fixtures import Sign
from tests.instances.object_sync.test_sync_api import bucket
from tests.instances.volume_world import carry_out
from tests.vast.conftest import Vast
from vast.models import Kind
from vast.numbers.numbers import number_of

__all__ = ["bucket"]

SUM = "ab" * 32


@pytest.fixture
def running(rin: User, host: FakeHost) -> Instance:
    return order_running(rin, host)


@pytest.fixture
def number(running: Instance) -> int:
    return number_of(Kind.INSTANCE, running.pk)


@pytest.fixture
def volume(vast: Vast, host: FakeHost) -> int:
    made = vast.must("PUT", "/volumes/", {"id": number_of(Kind.HOST, host.host.pk), "size": 2, "name": "work"})
    assert carry_out(host) == ["make_volume"]
    number: int = made["new_contract"]
    return number


def copy_body(src: str, dst: str) -> dict[str, Any]:
    """What the client sends for two locations."""
    sent: dict[str, Any] = {"client_id": "me"}
    for side, text in (("src", src), ("dst", dst)):
        named, colon, path = text.partition(":")
        sent |= {f"{side}_id": named if colon else None, f"{side}_path": path if colon else text}
    return sent


def answer(vast: Vast, body: dict[str, Any], path: str = "/commands/copy_direct/") -> tuple[int, str]:
    reply = vast.send("PUT", path, body)
    return reply.status_code, reply.json()["msg"]


def test_a_data_disk_goes_to_object_storage_and_comes_back(vast: Vast, number: int, bucket: Connection) -> None:
    (row,) = vast.must("GET", "/users/cloud_integrations/")
    assert row == {"id": f"conn_{bucket.pk.hex}", "name": "bucket", "cloud_type": "s3"}
    up = copy_body(f"C.{number}:/data/models", "s3.bucket:/backup")
    assert vast.must("PUT", "/commands/copy_direct/", up) == {"success": True}
    assert vast.must("PUT", "/commands/copy_direct/", up) == {"success": True}, "the client repeats a request"
    sync = Sync.objects.get()
    assert (sync.direction, sync.path, sync.folder, sync.connection) == ("up", "models", "backup", bucket)
    down = copy_body("s3.bucket:/", f"{number}:/data")
    with refused():
        assert vast.refused("PUT", "/commands/copy_direct/", down) == (409, "volume_busy")
    vast.must("DELETE", "/commands/copy_direct/", {"client_id": "me", "dst_id": f"C.{number}"})
    assert Sync.objects.get().state == "cancelled"
    vast.must("DELETE", "/commands/copy_direct/", {"client_id": "me", "dst_id": f"{number}:/data"})
    vast.must("PUT", "/commands/copy_direct/", copy_body(f"s3.{row['id']}:/", f"{number}:/data/"))
    assert Sync.objects.filter(direction="down", path="", folder="", state="running").count() == 1


def test_cloud_copy(vast: Vast, number: int, bucket: Connection) -> None:
    body = {"src": "/models", "dst": "/data/in", "instance_id": str(number), "selected": "bucket", "flags": []}
    vast.must("POST", "/commands/rclone/", {**body, "transfer": "Cloud To Instance"})
    assert Sync.objects.values_list("direction", "path", "folder").get() == ("down", "in", "models")
    vast.must("DELETE", "/commands/rclone/", {"client_id": "me", "dst_id": str(number)})
    assert Sync.objects.get().state == "cancelled"
    up = {**body, "src": "/data", "dst": "/all", "transfer": "Instance to Cloud"}
    vast.must("POST", "/commands/rclone/", up)
    for wrong in (
        {"transfer": "Cloud to Cloud"},
        {"flags": ["--dry-run"]},
        {"src": "/workspace"},
        {"src": "/data/../etc"},
        {"src": None},
        {"instance_id": None},
        {"selected": None},
    ):
        assert vast.refused("POST", "/commands/rclone/", {**up, **wrong})[0] == 400, wrong
    assert vast.refused("POST", "/commands/rclone/", {**up, "selected": "other"}) == (404, "not_found")


def test_a_volume_goes_to_object_storage(vast: Vast, volume: int, bucket: Connection) -> None:
    vast.must("PUT", "/commands/copy_direct/", copy_body(f"V.{volume}:/file", "s3.bucket:/workspace/"))
    assert Sync.objects.values_list("subject_kind", "path", "folder").get() == ("volume", "file", "workspace")


def test_other_copies_are_answered_with_the_command_that_makes_them(vast: Vast, running: Instance, number: int) -> None:
    port = dict(running.ports)[22]
    status, text = answer(vast, copy_body("local:my models", f"C.{number}:/data/in it"), "/commands/rsync/")
    assert (status, f"scp -r 'my models' scp://root@127.0.0.1:{port}//data/in%20it" in text) == (501, True), text
    status, text = answer(vast, copy_body(f"{number}:/data", "models"), "/commands/rsync/")
    assert (status, f"scp -r scp://root@127.0.0.1:{port}//data models" in text) == (501, True), text
    status, text = answer(vast, copy_body(f"{number}:/a", f"C.{number}:/b"))
    assert (status, f"scp -3 -r scp://root@127.0.0.1:{port}//a scp://root@127.0.0.1:{port}//b" in text) == (501, True), text
    stop_instance(renter=running.renter, instance_id=running.pk)
    status, text = answer(vast, copy_body(f"{number}:/data", "models"), "/commands/rsync/")
    assert (status, f"Instance {number} is not running" in text) == (501, True), text


@pytest.mark.parametrize(
    ("src", "dst", "word"),
    [
        ("a", "local:b", "your machine"),
        ("V.7:/", "V.8:/", "clone volume"),
        ("V.7:/", "local:b", "/mnt/NAME"),
        ("s3.a:/", "s3.b:/", "Object storage"),
        ("s3.a:/", "b", "Object storage"),
    ],
)
def test_what_no_host_copies(vast: Vast, src: str, dst: str, word: str) -> None:
    status, text = answer(vast, copy_body(src, dst))
    assert (status, word in text) == (501, True), text


@pytest.mark.parametrize("named", ["C.x", "V.", "drive", "s3.", f"C.{10**20}", ["C.1"], "s3.a\nb", "s3." + "a" * 2000])
def test_locations_that_are_none(vast: Vast, named: Any) -> None:
    body = {**copy_body("a", "b"), "src_id": named}
    assert vast.refused("PUT", "/commands/copy_direct/", body) == (400, "invalid_args")
    assert vast.refused("DELETE", "/commands/copy_direct/", {"dst_id": named}) == (400, "invalid_args")


def test_strangers_copy_nothing(mallory: User, sign: Sign, number: int, volume: int, bucket: Connection) -> None:
    other = Vast(sign(mallory))
    assert other.must("GET", "/users/cloud_integrations/") == []
    for name in (f"C.{number}", f"V.{volume}"):
        assert other.refused("PUT", "/commands/copy_direct/", copy_body(f"{name}:/data", "s3.bucket:/"))[0] == 404
        assert other.refused("DELETE", "/commands/copy_direct/", {"dst_id": name})[0] == 404
    assert other.refused("PUT", "/commands/rsync/", copy_body(f"{number}:/data", "here"))[0] == 404
    assert other.refused("POST", "/volumes/copy/", {"src_id": volume, "dst_id": volume}) == (404, "not_found")
    assert not Sync.objects.exists()


def test_a_volume_is_cloned_on_another_machine(vast: Vast, host: FakeHost, hana: User, volume: int) -> None:
    there = FakeHost(hana)
    body = {"src_id": volume, "dst_id": number_of(Kind.HOST, there.host.pk)}
    assert vast.refused("POST", "/volumes/copy/", {**body, "size": 9}) == (400, "invalid_args")
    assert vast.refused("POST", "/volumes/copy/", {**body, "dst_id": number_of(Kind.HOST, host.host.pk)})[0] == 400
    assert vast.refused("POST", "/volumes/copy/", {**body, "dst_id": 7}) == (404, "no_such_ask")
    made = vast.must("POST", "/volumes/copy/", {**body, "size": 2.0})
    assert vast.must("POST", "/volumes/copy/", body) == made, "the client repeats a request"
    clone = Volume.objects.get(name=made["volume_name"])
    assert (clone.host, clone.size_gb) == (there.host, 2)
    vast.must("DELETE", "/commands/copy_direct/", {"dst_id": f"V.{volume}"})  # nothing is copied *to* that one
    carry_out(host)
    carry_out(there, outcome={"checksum": SUM, "bytes": "1000", "cuts": "0"})
    advance_volume_transfers(now=clock.now())
    rows = {row["id"]: row["status"] for row in vast.must("GET", "/volumes")["volumes"]}
    assert rows == {volume: "ready", made["new_contract"]: "ready"}


def test_a_clone_is_cancelled(vast: Vast, hana: User, volume: int) -> None:
    there = FakeHost(hana)
    made = vast.must("POST", "/volumes/copy/", {"src_id": volume, "dst_id": number_of(Kind.HOST, there.host.pk)})
    vast.must("DELETE", "/commands/copy_direct/", {"client_id": "me", "dst_id": f"V.{made['new_contract']}"})
    rows = {row["id"]: row["status"] for row in vast.must("GET", "/volumes")["volumes"]}
    assert rows[volume] == "ready" and rows.get(made["new_contract"]) != "copying"
