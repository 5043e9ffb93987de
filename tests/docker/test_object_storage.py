"""Disks copied to and from a real S3 server by the real engine: what arrives, what is seen of it, and every way to break."""

import json
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agents.daemon.docker_engine.container_spec import SYNC_HOST_LABEL
from agents.daemon.operations.rclone_container import container_name
from agents.protocol.messages import DesiredInstance, OperationOrder
from tests.agents.daemon.market import Market
from tests.docker.conftest import SYNC_IMAGE, Host, Ssh, eventually
from tests.storage.object_store import BUCKET, REGION, Key, ObjectStore

pytestmark = pytest.mark.docker  # one engine, one firewall

# What people's tools name files, and what a shell or a parser could stumble over.
NAMES = ("a b", "模型 1.bin", 'it\'s "quoted"', "-rf", "sub/deep/.hidden", "weird;$(touch x)&")
BIG = 3_000_000


@dataclass
class Scene:
    """An instance with a data disk on one host, and an object storage at a public-looking address."""

    host: Host
    market: Market
    order: DesiredInstance
    ssh: Ssh
    store: ObjectStore

    def ask(self, direction: str, folder: str, **changes: str) -> OperationOrder:
        key = self.store.key
        args = {
            "image": SYNC_IMAGE,
            "direction": direction,
            "instance": self.order.id,
            "size_gb": "1",
            "path": "",
            "remote": f"{BUCKET}/{folder}",
            "delete": "",
            **{"endpoint": self.store.endpoint, "region": REGION, "key_id": key.key_id, "secret": key.secret},
            "virtual_host": "",
        }
        order = OperationOrder(uuid.uuid4().hex, "sync_objects", {**args, **changes})
        self.market.ask(order)
        return order

    def failed(self, order: OperationOrder) -> str:
        row = self.market.until_ended(order)
        assert row.phase == "failed", row
        assert self.store.key.secret not in row.detail
        return row.failure_code

    @property
    def disk(self) -> Path:
        return self.host.state / "mounts" / self.order.id

    def left(self) -> list[str]:
        """Of syncs, on the whole engine."""
        mine = {"label": f"{SYNC_HOST_LABEL}={self.host.config.host_id}"}
        boxes = self.host.engine.containers(all=True, filters=mine)
        networks = self.host.engine.networks(filters={"label": f"berth.host={self.host.config.host_id}"})
        return [
            *(item["Names"][0] for item in boxes),
            *(item["Name"] for item in networks if item["Name"] != f"berth-{self.order.id}"),
        ]


@pytest.fixture(scope="module")
def scene(
    new_module_host: Callable[[Market], Host], new_order: Callable[..., DesiredInstance], ssh_key: Path, sync_image: str
) -> Iterator[Scene]:
    with Market() as market, ObjectStore(apart=True) as store:
        host = new_module_host(market)
        made = Scene(host, market, new_order(host), Ssh(ssh_key), store)
        host.start()
        market.want(made.order)
        market.until_phase(made.order.id, "running", 1)
        yield made
        store.hold("")
        host.stop()
        for item in host.engine.containers(all=True, filters={"label": f"{SYNC_HOST_LABEL}={host.config.host_id}"}):
            host.engine.remove_container(item["Id"], force=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and "lost+found" not in path.parts
    }


def test_a_running_instance_is_copied_there_and_back_with_names_owners_and_links(scene: Scene) -> None:
    for name in NAMES:
        path = scene.disk / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode() * 3)
    (scene.disk / "work" / "big").write_bytes(os.urandom(BIG))
    scene.ssh.must(scene.order, "cd /data/work; chmod 750 -- -rf; chown 1000:1000 'a b'; chmod 600 'a b'; ln -s big link")
    before = contents(scene.disk / "work")
    scene.store.hold("PUT /renters-data/up/one/big")
    order = scene.ask("up", "up/one", path="work")
    scene.store.until_held()
    seen = scene.market.until(lambda report: any(row.total_files == len(NAMES) + 2 for row in report.operations))
    progress = next(row for row in seen.operations if row.id == order.id)
    assert progress.phase == "running"
    assert progress.total_bytes > BIG
    assert_closed(scene, order)
    scene.store.hold("")
    outcome = scene.market.until_done(order)
    assert (outcome["copied_files"], outcome["same_files"]) == (str(len(NAMES) + 2), "0")
    assert int(outcome["copied_bytes"]) > BIG
    assert scene.store.files("up/one/")["up/one/big"] == BIG
    again = scene.market.until_done(scene.ask("up", "up/one", path="work"))
    assert (again["copied_files"], again["same_files"]) == ("0", str(len(NAMES) + 2))
    scene.market.until_done(scene.ask("down", "up/one", path="back"))
    assert contents(scene.disk / "back") == before
    reported = scene.ssh.must(scene.order, "cd /data/back; stat -c '%a %u' -- -rf 'a b'; readlink link")
    assert reported.split("\n")[:3] == ["750 0", "600 1000", "big"]
    assert scene.left() == []


def assert_closed(scene: Scene, order: OperationOrder) -> None:
    """While it runs: no login anywhere but in its own memory, no power, no way to anything but the storage."""
    engine, secret = scene.host.engine, scene.store.key.secret
    shown = engine.inspect_container(container_name(order.id))
    assert secret not in json.dumps(shown)
    assert secret not in engine.logs(container_name(order.id)).decode()
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.parent.name != str(os.getpid())]
    assert not any(secret.encode() in line for line in lines)
    files = [path for path in scene.host.state.rglob("*") if path.is_file() and path.stat().st_size < 1_000_000]
    assert not any(secret.encode() in path.read_bytes() for path in files)
    limits = shown["HostConfig"]
    assert (limits["CapDrop"], limits["CapAdd"], limits["ReadonlyRootfs"]) == (["ALL"], ["DAC_OVERRIDE"], True)
    assert limits["Memory"] == limits["MemorySwap"] > 0 < limits["PidsLimit"]
    assert [(mount["Destination"], mount["RW"]) for mount in shown["Mounts"]] == [("/disk", False)]
    gateway = next(iter(shown["NetworkSettings"]["Networks"].values()))["Gateway"]
    port = scene.market.url.rpartition(":")[2]
    for address in ("169.254.169.254/80", "10.0.0.1/80", f"{gateway}/{port}", f"{gateway}/22"):
        tried = subprocess.run(
            ["docker", "exec", container_name(order.id), "timeout", "1", "bash", "-c", f"</dev/tcp/{address}"],
            capture_output=True,
            check=False,
        )
        assert tried.returncode != 0, address


def test_a_stopped_instance_gets_what_lies_there_and_what_does_not_is_deleted(scene: Scene) -> None:
    scene.market.want(replace(scene.order, run="stopped"))
    scene.market.until_phase(scene.order.id, "stopped")
    (scene.disk / "mirror").mkdir()
    (scene.disk / "mirror" / "mine alone").write_bytes(b"of no other side")
    scene.store.put("set/a", b"first")
    scene.store.put("set/b/c", b"second")
    outcome = scene.market.until_done(scene.ask("down", "set", path="mirror", delete="yes"))
    assert contents(scene.disk / "mirror") == {"a": b"first", "b/c": b"second"}
    assert (outcome["copied_files"], outcome["deleted_files"]) == ("2", "1")
    (scene.disk / "mirror" / "a").unlink()
    scene.market.until_done(scene.ask("up", "set", path="mirror"))
    assert set(scene.store.files("set/")) == {"set/a", "set/b/c"}, "kept unless asked otherwise"
    assert scene.market.until_done(scene.ask("up", "set", path="mirror", delete="yes"))["deleted_files"] == "1"
    assert set(scene.store.files("set/")) == {"set/b/c"}


def test_an_agent_that_ends_leaves_it_running_and_one_that_nobody_names_is_taken_away(scene: Scene) -> None:
    scene.store.hold("PUT /renters-data/long/")
    (scene.disk / "long").mkdir()
    (scene.disk / "long" / "file").write_bytes(b"long")
    order = scene.ask("up", "long", path="long")
    scene.store.until_held()
    scene.host.stop()
    begun = scene.host.engine.inspect_container(container_name(order.id))["State"]
    assert begun["Running"]
    scene.host.start()
    scene.market.until(lambda report: any(row.id == order.id for row in report.operations))
    assert scene.host.engine.inspect_container(container_name(order.id))["State"]["Pid"] == begun["Pid"]
    scene.market.ask()
    eventually(lambda: scene.left() == [], "the withdrawn sync is taken away")
    scene.store.hold("PUT /renters-data/long/")
    orphan = scene.ask("up", "long", path="long")
    scene.store.until_held()
    scene.host.stop()
    scene.market.ask()
    assert scene.left() != [], orphan
    scene.host.start()
    eventually(lambda: scene.left() == [], "what nobody names any more is taken away")
    scene.store.hold("")


def test_why_it_failed_is_said_in_words(scene: Scene) -> None:
    (scene.disk / "small").mkdir()
    (scene.disk / "small" / "file").write_bytes(b"small")
    wrong = Key(scene.store.key.key_id, "not-the-secret")
    assert scene.failed(scene.ask("up", "no", path="small", secret=wrong.secret)) == "storage_login_refused"
    reader = scene.store.reader
    assert scene.failed(scene.ask("up", "no", path="small", key_id=reader.key_id, secret=reader.secret)) == (
        "storage_login_refused"
    )
    assert scene.failed(scene.ask("up", "no", path="nowhere")) == "folder_missing"
    assert scene.failed(scene.ask("up", "no", instance=uuid.uuid4().hex)) == "disk_missing"
    assert scene.failed(scene.ask("up", "no", path="../../etc")) == "sync_failed"
    assert scene.failed(scene.ask("up", "no", remote="no bucket/--config")) == "sync_failed"
    scene.store.put("huge/file", bytes(8_000_000))
    room = os.statvfs(scene.disk)
    with (scene.disk / "filler").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - 4_000_000)
    assert scene.failed(scene.ask("down", "huge", path="full")) == "disk_full"
    (scene.disk / "filler").unlink()
    assert scene.left() == []
