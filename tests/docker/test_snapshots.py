"""Volumes and snapshots on a real engine: written by a container, copied while it writes, the agent killed at every step."""

import json
import subprocess
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.disks.block_copy import checksum_of, sums_on_disk
from agents.protocol.messages import DesiredInstance, Mount, OperationOrder
from tests.agents.daemon.market import Market, renamed
from tests.docker.conftest import Host, Ssh, eventually

pytestmark = pytest.mark.docker  # one engine, one firewall

# A writer that never rests, on the volume and the data disk; each file says in its name how it should begin.
WRITER = (
    "nohup sh -c 'i=0; while :; do i=$((i+1)); for d in /mnt/models /data; do"
    " echo $i >$d/count; head -c 300000 /dev/urandom >$d/busy-$((i%5)); done; sleep 0.05; done' >/dev/null 2>&1 &"
)


@dataclass
class Scene:
    """A running instance with a volume, whose programs write to both disks all the time."""

    host: Host
    market: Market
    order: DesiredInstance
    volume: str
    ssh: Ssh

    def ask(self, kind: str, **args: str) -> OperationOrder:
        order = OperationOrder(uuid.uuid4().hex, kind, args)
        self.market.ask(order)
        return order

    def snapshot_file(self, snapshot: str) -> Path:
        return self.host.state / "snapshots" / f"{snapshot}.ext4"

    def count(self) -> int:
        return int(self.ssh.must(self.order, "cat /mnt/models/count").strip() or 0)


@pytest.fixture(scope="module")
def scene(
    new_module_host: Callable[[Market], Host], new_order: Callable[..., DesiredInstance], ssh_key: Path
) -> Iterator[Scene]:
    with Market() as market:
        host, volume = new_module_host(market), uuid.uuid4().hex
        mount = Mount(volume, "volume", "models", 1)
        made = Scene(host, market, new_order(host, mounts=[mount]), volume, Ssh(ssh_key))
        host.start()
        made.market.until_done(made.ask("make_volume", volume=volume, size_gb="1"))
        market.want(made.order)
        market.until_phase(made.order.id, "running", 1)
        made.ssh.must(made.order, f"echo kept >/mnt/models/kept; sync; {WRITER}")
        yield made
        host.stop()
        for folder in ("volumes/mounts", "public"):
            for mounted in (host.state / folder).glob("*"):
                subprocess.run(["umount", mounted], check=False, capture_output=True)


def assert_whole(scene: Scene, snapshot: str, outcome: dict[str, str]) -> None:
    """Its sum is that of what lies on the disk, and its file system is clean, with everything that was written before."""
    path = scene.snapshot_file(snapshot)
    assert outcome["checksum"] == checksum_of(sums_on_disk(path, lambda _: None), path.stat().st_size)
    assert json.loads(path.with_suffix(".json").read_text()) == outcome
    checked = subprocess.run(["e2fsck", "-f", "-n", path], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
    read = subprocess.run(["debugfs", "-R", "cat /kept", path], capture_output=True, text=True, check=True)
    assert read.stdout == "kept\n"


@pytest.mark.parametrize("point", ["snapshot-frozen", "snapshot-described"])
def test_fault_045_killed_while_taking_a_snapshot_during_heavy_writes(scene: Scene, point: str) -> None:
    """At the other steps, without the writes: test_kill_points.py."""
    scene.host.stop()
    snapshot = uuid.uuid4().hex
    order = scene.ask("take_snapshot", snapshot=snapshot, volume=scene.volume, size_gb="1")
    scene.host.run_until_killed(point)
    reported = [row for report in scene.market.reports for row in report.operations if row.id == order.id]
    assert all(row.phase == "running" for row in reported), "never told as done before it is"
    assert not scene.snapshot_file(snapshot).exists()
    scene.host.start()
    assert_whole(scene, snapshot, scene.market.until_done(order))
    before = scene.count()
    eventually(lambda: scene.count() > before, "the writer goes on: nothing is left frozen")
    scene.market.until_done(scene.ask("drop_snapshot", snapshot=snapshot))
    assert list((scene.host.state / "snapshots").iterdir()) == []


def test_a_snapshot_of_the_data_disk_is_read_as_a_public_data_set_and_made_a_volume(scene: Scene) -> None:
    scene.ssh.must(scene.order, "echo kept >/data/kept; sync")
    snapshot, copy = uuid.uuid4().hex, uuid.uuid4().hex
    outcome = scene.market.until_done(scene.ask("take_snapshot", snapshot=snapshot, instance=scene.order.id, size_gb="1"))
    assert_whole(scene, snapshot, outcome)
    scene.market.until_done(scene.ask("make_volume", volume=copy, size_gb="2", snapshot=snapshot))
    mounts = [*scene.order.mounts, Mount(copy, "volume", "copy", 2), Mount(snapshot, "public", "set")]
    scene.order = renamed(scene.order, mounts=mounts)
    scene.market.want(scene.order)
    scene.market.until_phase(scene.order.id, "running", scene.order.generation)
    scene.ssh.must(scene.order, WRITER)
    assert scene.ssh.must(scene.order, "cat /mnt/models/kept /mnt/copy/kept /pub/set/kept").split() == ["kept"] * 3
    assert int(scene.ssh.must(scene.order, "df -m --output=size /mnt/copy | tail -1")) > 1800
    assert scene.ssh.run(scene.order, "touch /pub/set/mine").returncode != 0
    assert "Read-only" in scene.ssh.run(scene.order, "touch /pub/set/mine").stderr
    report = scene.market.until(lambda report: copy in {disk.id for disk in report.disks})
    disks = {disk.id: disk for disk in report.disks}
    assert disks.keys() >= {scene.volume, copy, scene.order.id}
    assert disks[copy].total_mb > disks[scene.volume].total_mb
    assert 0 < disks[scene.volume].inodes_used < disks[scene.volume].inodes_total


def test_killed_while_restoring(scene: Scene) -> None:
    snapshot = uuid.uuid4().hex
    outcome = scene.market.until_done(scene.ask("take_snapshot", snapshot=snapshot, volume=scene.volume, size_gb="1"))
    scene.ssh.must(scene.order, "echo changed >/mnt/models/kept; sync")
    scene.market.want(replace(scene.order, run="stopped"))
    scene.market.until_phase(scene.order.id, "stopped")
    scene.host.stop()
    order = scene.ask("restore_disk", snapshot=snapshot, volume=scene.volume, size_gb="1")
    scene.host.run_until_killed("restore-unmounted")
    scene.host.start()
    scene.market.until_done(order)
    assert_whole(scene, snapshot, outcome)
    scene.market.ask()
    scene.order = renamed(scene.order)
    scene.market.want(scene.order)
    scene.market.until_phase(scene.order.id, "running", scene.order.generation)
    assert scene.ssh.must(scene.order, "cat /mnt/models/kept").strip() == "kept"
    scene.ssh.must(scene.order, WRITER)


def test_what_is_damaged_or_not_there_changes_nothing(scene: Scene) -> None:
    snapshot = uuid.uuid4().hex
    scene.market.until_done(scene.ask("take_snapshot", snapshot=snapshot, volume=scene.volume, size_gb="1"))
    with scene.snapshot_file(snapshot).open("r+b") as file:
        file.seek(4096)
        file.write(b"damaged")
    refusals: dict[str, dict[str, Any]] = {
        "snapshot_damaged": {"snapshot": snapshot, "volume": uuid.uuid4().hex},
        "snapshot_missing": {"snapshot": uuid.uuid4().hex, "volume": uuid.uuid4().hex},
    }
    for code, args in refusals.items():
        row = scene.market.until_ended(scene.ask("make_volume", size_gb="1", **args))
        assert (row.phase, row.failure_code) == ("failed", code)
        assert list((scene.host.state / "volumes").rglob(f"{args['volume']}*")) == []
    lost = replace(scene.order, id=uuid.uuid4().hex, mounts=[Mount(uuid.uuid4().hex, "volume", "lost", 1)], ports=[])
    scene.market.want(lost)
    assert scene.market.until_phase(lost.id, "failed").failure_code == "volume_missing"
    scene.market.want(replace(lost, run="gone"))
    scene.market.until_absent(lost.id)
