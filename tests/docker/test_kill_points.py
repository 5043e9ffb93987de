"""Every action on a real engine, its agent killed by SIGKILL at each step: the next one ends where it should, nothing lost.

What the steps are is told by the agent itself: see kill_stage.py. Each tour begins and ends with the box running.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.disks.block_copy import checksum_of, sums_on_disk
from agents.daemon.lib.config import load_config, save_config
from agents.protocol.messages import Mount
from tests.docker.conftest import free_port
from tests.docker.kill_matrix import build_greeter, checksum, fork_server
from tests.docker.kill_stage import GREETER, Action, Stage, Tour, open_stage
from tests.storage.stub_registry import StubRegistry

pytestmark = pytest.mark.docker  # one engine, one firewall
KEPT = b"installed by the renter"


@pytest.fixture(scope="module")
def stage(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A box that runs, with something on its root, its data disk and its volume."""
    build_greeter(GREETER)
    with fork_server() as place, open_stage(engine, tmp_path_factory.mktemp("kills"), place) as stage:
        stage.spawn()
        stage.market.until(lambda report: report.facts is not None)
        stage.ask_in_peace("make_volume", volume=stage.named("volume"), size_gb="1")
        stage.new("box", mounts=[Mount(stage.id_of("volume"), "volume", "models", 1)])
        stage.market.until(lambda report: running(stage))
        stage.keep(stage.data(), os.urandom(3_000_000))
        stage.keep(volume_file(stage), os.urandom(1_000_000))
        stage.machine.put(stage.box.id, "kept", KEPT)
        yield stage


def running(stage: Stage) -> bool:
    return stage.has_reported("running")


def stopped(stage: Stage) -> bool:
    return stage.has_reported("stopped")


def done(kind: str) -> Callable[[Stage], bool]:
    return lambda stage: stage.is_done(kind)


def volume_file(stage: Stage) -> Path:
    return stage.state / "volumes" / "mounts" / stage.id_of("volume") / "file"


def gpus(stage: Stage, *numbers: int) -> list[str]:
    assert stage.market.facts is not None
    return [stage.market.facts.gpus[number].uuid for number in numbers]


def is_kept(stage: Stage) -> None:
    assert stage.machine.get(stage.box.id, "kept") == KEPT


def change(name: str, **changes: Any) -> Action:
    """Running again with this."""
    return Action(name, lambda stage: stage.change(run="running", **changes), running, is_kept)


def shares(name: str, *numbers: int) -> Action:
    """Running again on these GPUs, none means without."""

    def begin(stage: Stage) -> None:
        stage.change(run="running", gpu_uuids=gpus(stage, *numbers), cpu_millis=400 if numbers else 200)

    def check(stage: Stage) -> None:
        is_kept(stage)
        [found] = stage.machine.containers(stage.box.id)
        assert sorted(filter(None, found["Labels"]["berth.gpus"].split(","))) == sorted(gpus(stage, *numbers))

    return Action(name, begin, running, check)


STOP = Action("stop", lambda stage: stage.change(run="stopped", again=False), stopped, is_kept)


def test_fault_013_014_015_rent_and_release(stage: Stage) -> None:
    rent = Action(
        "rent",
        lambda stage: stage.new("other", gpu_uuids=gpus(stage, 3)),
        lambda s: s.has_reported("running", "other"),
    )
    release = Action("release", lambda stage: stage.change("other", run="gone", again=False), lambda s: s.is_gone("other"))
    Tour(stage, rent, release).run()
    stage.forget("other")


def test_restart_stop_and_start(stage: Stage) -> None:
    Tour(stage, change("restart")).run()
    Tour(stage, STOP, change("start")).run()


def test_without_a_gpu_and_with_more(stage: Stage) -> None:
    Tour(stage, shares("without a GPU"), shares("with another GPU", 1)).run()
    Tour(stage, shares("with two GPUs", 1, 2), shares("with one again", 0)).run()


def test_fault_043_re_image(stage: Stage) -> None:
    def check(stage: Stage) -> None:
        assert stage.machine.get(stage.box.id, "kept") is None, "the root is fresh"
        stage.machine.put(stage.box.id, "kept", KEPT)

    def begin(stage: Stage) -> None:
        stage.change(root=stage.box.root + 1)

    # What was saved of the root before goes with it. After that each re-image finds the same.
    for step in ("DELETE images/berth-root/ID:N", "=forgotten"):
        stage.change(gpu_uuids=gpus(stage, 2 if stage.box.gpu_uuids == gpus(stage, 1) else 1))
        Tour(stage).until("another GPU", lambda: running(stage) and not stage.agent.is_busy())
        stage.agent.arm(step, 1)
        begin(stage)
        stage.until_dead()
        stage.spawn()
        Tour(stage).until("a fresh root", lambda: running(stage) and not stage.agent.is_busy() and not _saved_roots(stage))
        check(stage)
    Tour(stage, Action("re-image", begin, running, check, alone=True)).run()


def _saved_roots(stage: Stage) -> bool:
    return any("berth-root" in what or "exited" in what for what in stage.machine.inventory())


def test_a_re_image_is_taken_back(stage: Stage) -> None:
    """Half-way, and by then its agent is dead: the former root runs again as it was left, and nothing of the other stays."""
    stage.change(gpu_uuids=gpus(stage, 0))  # so that it stands on a saved root, which must stay
    Tour(stage).until("rest before it", lambda: running(stage) and not stage.agent.is_busy())
    before = stage.machine.inventory()
    for step in ("=halted", "=access", "=created", "=network", "=started", "=tested"):
        stage.agent.arm(step, 1)
        stage.change(root=stage.box.root + 1)
        stage.until_dead()
        stage.change(root=stage.box.root - 1)
        stage.spawn()
        Tour(stage).until("taken back", lambda: running(stage) and stage.machine.inventory() == before)
        is_kept(stage)
        stage.check_data()


def test_keys_and_addresses(stage: Stage) -> None:
    def keys(name: str) -> Action:
        line = f"ssh-ed25519 AAAA {name}"

        def is_written(stage: Stage) -> bool:
            return (stage.state / "access" / stage.box.id / "authorized_keys").read_text() == f"{line}\n"

        return Action(f"key {name}", lambda stage: stage.change(again=False, ssh_keys=[line]), is_written)

    def allow(name: str, *networks: str) -> Action:
        def is_set(stage: Stage) -> bool:
            rules = [what for what in stage.machine.inventory() if what.startswith("rule")]
            sources = sorted(rule.partition(" -s ")[2].split()[0] for rule in rules if " -s " in rule)
            return sources == sorted(networks) and bool(rules) == bool(networks)

        return Action(name, lambda stage: stage.change(again=False, allow_from=list(networks)), is_set)

    Tour(stage, keys("two"), keys("one")).run()
    Tour(stage, allow("two networks", "127.0.0.0/8", "203.0.113.0/24"), allow("one network", "127.0.0.0/8")).run()
    Tour(stage, allow("from everywhere"), allow("from here", "127.0.0.0/8")).run()


def test_volumes_come_and_go(stage: Stage) -> None:
    args = {"size_gb": "1"}
    make = Action("make", lambda s: s.ask("make_volume", volume=s.named("spare"), **args), done("make_volume"))
    drop = Action("drop", lambda s: s.ask("drop_volume", volume=s.id_of("spare")), done("drop_volume"))
    Tour(stage, make, drop).run()
    mounts = stage.box.mounts
    was = {path: stage.sums.pop(path) for path in [volume_file(stage)]}
    detach = change("detach", mounts=[])
    attach = change("attach", mounts=mounts)
    Tour(stage, detach, attach).run()
    stage.sums.update(was)
    stage.check_data()


def test_disks_grow(stage: Stage) -> None:
    def grow(kind: str, what: str, image: Callable[[Stage], Path]) -> Action:
        def begin(stage: Stage) -> None:
            stage.ask(kind, **{what: image(stage).stem}, size_gb=str((image(stage).stat().st_size >> 30) + 1))

        def check(stage: Stage) -> None:
            assert image(stage).stat().st_size >> 30 == int(stage.operations[kind].args["size_gb"])

        return Action(kind, begin, done(kind), check)

    Tour(stage, grow("grow_disk", "instance", lambda s: s.state / "disks" / f"{s.box.id}.ext4")).run()
    Tour(stage, grow("grow_volume", "volume", lambda s: s.state / "volumes" / "disks" / f"{s.id_of('volume')}.ext4")).run()


def snapshot_file(stage: Stage) -> Path:
    return stage.state / "snapshots" / f"{stage.id_of('snapshot')}.ext4"


def is_whole(stage: Stage) -> None:
    """Its sum is that of what lies on the disk, and the file system in it is clean."""
    row, path = stage.row_of("take_snapshot"), snapshot_file(stage)
    assert row is not None
    assert row.outcome["checksum"] == checksum_of(sums_on_disk(path, lambda _: None), path.stat().st_size)
    assert json.loads(path.with_suffix(".json").read_text()) == row.outcome
    checked = subprocess.run(["e2fsck", "-f", "-n", path], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def is_not_half_listed(stage: Stage) -> None:
    row = stage.row_of("take_snapshot")
    assert row is None or row.phase == "running" or snapshot_file(stage).exists()


def test_fault_045_snapshots(stage: Stage) -> None:
    def take(stage: Stage) -> None:
        stage.ask("take_snapshot", snapshot=stage.named("snapshot"), volume=stage.id_of("volume"), size_gb="1")

    taken = Action("take", take, done("take_snapshot"), is_whole, is_not_half_listed)
    drop = Action("drop", lambda s: s.ask("drop_snapshot", snapshot=s.id_of("snapshot")), done("drop_snapshot"))
    Tour(stage, taken, drop).run()


def test_restore(stage: Stage) -> None:
    def restore(stage: Stage) -> None:
        volume_file(stage).write_bytes(b"changed since")
        args = {"snapshot": stage.id_of("snapshot"), "volume": stage.id_of("volume")}
        stage.ask("restore_disk", **args, size_gb=str(volume_gb(stage)))

    def volume_gb(stage: Stage) -> int:
        return (stage.state / "volumes" / "disks" / f"{stage.id_of('volume')}.ext4").stat().st_size >> 30

    subprocess.run(["sync", "-f", volume_file(stage)], check=True)
    stage.ask_in_peace("take_snapshot", snapshot=stage.named("snapshot"), volume=stage.id_of("volume"), size_gb="1")
    stage.change(run="stopped", again=False)
    stage.market.until(lambda report: stopped(stage))
    Tour(stage, Action("restore", restore, done("restore_disk"))).run()
    stage.ask_in_peace("drop_snapshot", snapshot=stage.id_of("snapshot"))
    stage.change(run="running")
    stage.market.until(lambda report: running(stage))
    stage.check_data()


def test_what_is_given_up_while_the_agent_is_away_leaves_nothing(stage: Stage) -> None:
    stage.ask_in_peace("take_snapshot", snapshot=stage.named("snapshot"), volume=stage.id_of("volume"), size_gb="1")
    before = stage.machine.inventory()
    orders = {
        "=snapshot-checked": ("take_snapshot", {"snapshot": stage.named("half"), "instance": stage.box.id}),
        "=snapshot-described": ("take_snapshot", {"snapshot": stage.named("half"), "instance": stage.box.id}),
        "=restore-copied": ("make_volume", {"volume": stage.named("half"), "snapshot": stage.id_of("snapshot")}),
    }
    for step, (kind, args) in orders.items():
        stage.agent.arm(step, 1)
        stage.ask(kind, **args, size_gb="4")
        stage.until_dead()
        stage.market.ask()
        stage.spawn()
        Tour(stage).until(f"{kind} given up", lambda: stage.machine.inventory() == before)
    stage.ask_in_peace("drop_snapshot", snapshot=stage.id_of("snapshot"))


def test_images_saved_sent_and_brought(stage: Stage) -> None:
    kept = {"reference": f"berth-saved/{stage.box.id}:1"}
    save = Action("save", lambda s: s.ask("save_image", instance=s.box.id, push="", **kept), done("save_image"))
    Tour(stage, save, Action("drop", lambda s: s.ask("drop_image", **kept), done("drop_image"))).run()
    with StubRegistry() as registry:
        pushed = f"{registry.host}/saved/box:1"

        def send(stage: Stage) -> None:
            stage.ask("save_image", instance=stage.box.id, push=pushed, **kept)

        def is_sent(stage: Stage) -> None:
            row = stage.row_of("save_image")
            assert row is not None and ("saved/box", row.outcome["digest"]) in registry.manifests

        Tour(stage, Action("send", send, done("save_image"), is_sent)).run()
        row = stage.row_of("save_image")
        assert row is not None
        _bring(stage, row.outcome["reference"], pushed)
        for image in stage.machine.engine.images():
            if any(registry.host in name for name in image["RepoDigests"] or []):
                stage.machine.engine.remove_image(image["Id"], force=True)


def _bring(stage: Stage, reference: str, name: str) -> None:
    """Another instance of the image that was sent, on a host that does not have it."""
    stage.end()
    save_config(stage.state, replace(load_config(stage.state), local_images=False))
    stage.spawn()

    def rent(stage: Stage) -> None:
        for image in (name, reference):
            subprocess.run(["docker", "rmi", "--force", image], check=False, capture_output=True)
        stage.new("other", gpu_uuids=gpus(stage, 3), image=reference)

    def check(stage: Stage) -> None:
        assert stage.machine.get(stage.orders["other"].id, "kept") == KEPT

    there = Action("bring", rent, lambda s: s.has_reported("running", "other"), check)
    release = Action("release", lambda s: s.change("other", run="gone", again=False), lambda s: s.is_gone("other"))
    Tour(stage, there, release).run()
    stage.forget("other")


def test_clone_on_the_same_host(stage: Stage) -> None:
    def copy(stage: Stage) -> None:
        stage.forget("twin")
        stage.ask("copy_root", source=stage.box.id, target=stage.named("twin"), number="7", disk_gb="1")

    def run(stage: Stage) -> None:
        copied = replace(stage.box, id=stage.id_of("twin"), generation=1, run="running", root=7, root_brought=True)
        stage.orders["twin"] = replace(copied, gpu_uuids=gpus(stage, 3), mounts=[], ports=[(22, free_port())])
        stage.market.want(stage.orders["twin"])

    def check(stage: Stage) -> None:
        assert stage.machine.get(stage.orders["twin"].id, "kept") == KEPT
        assert checksum(stage.data("twin")) == model

    def release(stage: Stage) -> None:
        stage.change("twin", run="gone", again=False)

    stage.change(run="stopped", again=False)
    stage.market.until(lambda report: stopped(stage))
    model, stage.sums = stage.sums[stage.data()], {}
    subprocess.run(["umount", stage.data().parent], check=True)  # as every copy but the first finds it
    Tour(
        stage,
        Action("copy", copy, done("copy_root")),
        Action("run the copy", run, lambda s: s.has_reported("running", "twin"), check),
        Action("release the copy", release, lambda s: s.is_gone("twin")),
    ).run()
    stage.forget("twin")
    stage.change(run="running")
    stage.market.until(lambda report: running(stage))
    is_kept(stage)
    assert checksum(stage.data()) == model
