"""The root file system has a limit: what a renter writes is full inside, and the host's disk does not notice."""

import shutil
import subprocess
import uuid
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.disks import limited_runtime, root_usage_watch
from agents.daemon.disks.system_disks import SystemDisks, mounted_at
from agents.daemon.docker_engine.container_spec import EngineOptions
from agents.daemon.engine.interface import ContainerOrder
from agents.protocol.messages import DesiredInstance, ObservedOperation, OperationOrder, Report
from tests.docker.conftest import Host, Ssh, eventually
from tests.docker.second_engine import SecondEngine, build_tiny_image

pytestmark = pytest.mark.docker

TINY = "berth/tiny:test"
GIB = 1024**3
MIB = 1024**2
FULL = "No space left on device"
WRITTEN_AT_MOST = 1100 * MIB  # a disk of 1 GiB and what others of this machine write meanwhile


@pytest.fixture
def order(host: Host, new_order: Callable[..., DesiredInstance]) -> DesiredInstance:
    return new_order(host, system_disk_gb=1)


def run(host: Host, order: DesiredInstance) -> None:
    host.market.want(order)
    host.market.until_phase(order.id, "running", order.generation)


def stop(host: Host, order: DesiredInstance) -> DesiredInstance:
    stopped = replace(order, generation=order.generation + 1, run="stopped")
    host.market.want(stopped)
    host.market.until_phase(order.id, "stopped", stopped.generation)
    return stopped


def release(host: Host, order: DesiredInstance) -> None:
    host.market.want(replace(order, run="gone"))
    host.market.until_absent(order.id)
    assert host.leftovers(order) == []


def disks_of(host: Host, order: DesiredInstance) -> list[Path]:
    return sorted((host.state / "systems").glob(f"{order.id}.*"))


def saved_layers(host: Host, order: DesiredInstance) -> list[Any]:
    found: list[Any] = host.engine.images(name=f"berth-root/{order.id}")
    return found


def test_the_host_says_how_roots_are_limited(host: Host) -> None:
    host.start()
    host.market.until(lambda report: report.facts is not None and report.facts.root_limit == "disk")
    assert not any("berth-trial" in name for item in host.engine.containers(all=True) for name in item["Names"])
    assert disks_left(host) == []


def disks_left(host: Host) -> list[str]:
    return [path.name for name in ("systems", "staging") for path in (host.state / name).iterdir()]


def test_a_full_root_is_full_inside_alone(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    host.start()
    run(host, order)
    blocks, size = ssh.must(order, "stat -f -c '%b %S' /").split()
    assert int(blocks) * int(size) <= GIB
    before = shutil.disk_usage("/var/lib/docker").free
    written = ssh.run(order, "dd if=/dev/zero of=/root/fill bs=1M count=3000", timeout=60)
    assert FULL in written.stderr
    assert before - shutil.disk_usage("/var/lib/docker").free < WRITTEN_AT_MOST
    ssh.must(order, "rm /root/fill && echo room >/root/file")
    release(host, order)


@pytest.mark.parametrize("name", ["/etc/hosts", "/etc/hostname", "/etc/resolv.conf"])
def test_files_that_the_engine_lends_are_no_way_around(host: Host, order: DesiredInstance, ssh: Ssh, name: str) -> None:
    host.start()
    run(host, order)
    ssh.must(order, "echo 10.0.0.9 mirror >>/etc/hosts && grep -q mirror /etc/hosts")
    assert FULL in ssh.run(order, f"dd if=/dev/zero of={name} bs=1M count=100 oflag=append conv=notrunc").stderr
    again = stop(host, order)
    again = replace(again, generation=3, run="running")
    run(host, again)  # what is full does not keep it from starting
    release(host, again)


def test_anonymous_volumes_lie_on_the_disk_and_stay(host: Host, order: DesiredInstance, ssh: Ssh, image: str) -> None:
    recipe = f"FROM {image}\nRUN mkdir /models && echo own >/models/card\nVOLUME /models\n"
    tag = "berth/volumes:test"
    subprocess.run(["docker", "build", "-q", "-t", tag, "-"], input=recipe, text=True, check=True, capture_output=True)
    order = replace(order, image=tag)
    host.start()
    run(host, order)
    assert FULL in ssh.run(order, "dd if=/dev/zero of=/models/fill bs=1M count=3000", timeout=60).stderr
    ssh.must(order, "rm /models/fill && echo kept >/models/file")
    assert host.market.facts is not None
    moved = replace(order, generation=2, gpu_uuids=[host.market.facts.gpus[1].uuid])
    run(host, moved)
    assert ssh.must(moved, "cat /models/card /models/file") == "own\nkept\n"
    release(host, moved)


def test_what_is_written_stays(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    """Over stop and start, another agent, a machine that was down, and other GPUs: nothing is copied, no layer is added."""
    host.start()
    run(host, order)
    ssh.must(order, "echo kept >/root/file && rm /usr/bin/mktemp")
    stopped = stop(host, order)
    host.stop()
    [disk] = disks_of(host, order)
    for place in mounted_at(disk):  # as a reboot leaves it
        subprocess.run(["umount", place], check=True)
    host.start()
    again = replace(stopped, generation=3, run="running")
    run(host, again)
    assert ssh.must(again, "cat /root/file") == "kept\n"
    assert host.market.facts is not None
    moved = replace(again, generation=4, gpu_uuids=[host.market.facts.gpus[1].uuid])
    run(host, moved)
    assert ssh.must(moved, "cat /root/file; ls /usr/bin/mktemp || echo gone") == "kept\ngone\n"
    eventually(lambda: len(host.containers(moved)) == 1, "the earlier container goes")
    assert disks_of(host, moved) == [disk]
    assert saved_layers(host, moved) == []
    release(host, moved)


def test_a_container_whose_disk_is_not_mounted_does_not_start_on_an_empty_root(host: Host, order: DesiredInstance) -> None:
    host.start()
    run(host, order)
    stopped = stop(host, order)
    host.stop()
    [disk] = disks_of(host, order)
    for place in mounted_at(disk):
        subprocess.run(["umount", place], check=True)
    [container] = host.containers(stopped)
    done = subprocess.run(["docker", "start", container["Id"]], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    host.start()
    again = replace(stopped, generation=3, run="running")
    run(host, again)
    release(host, again)


def test_a_fresh_root_has_a_disk_of_its_own(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    """The old one goes once the fresh one runs."""
    host.start()
    run(host, order)
    ssh.must(order, "echo old >/root/file")
    fresh = replace(order, generation=2, root=1)
    run(host, fresh)
    assert ssh.must(fresh, "cat /root/file 2>/dev/null || echo none") == "none\n"
    eventually(lambda: len(host.containers(fresh)) == 1, "the earlier container goes")
    assert [path.name.split(".")[1] for path in disks_of(host, fresh)] == ["1"]
    release(host, fresh)


def test_a_container_without_a_limit_gets_one(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    """Made for an older control plane: at the next start what it holds goes on below a disk."""
    host.start()
    unlimited = replace(order, system_disk_gb=0)
    run(host, unlimited)
    ssh.must(order, "echo kept >/root/file")
    limited = replace(order, generation=2)
    run(host, limited)
    assert ssh.must(limited, "cat /root/file") == "kept\n"
    assert FULL in ssh.run(limited, "dd if=/dev/zero of=/root/fill bs=1M count=3000", timeout=60).stderr
    release(host, limited)


def test_an_image_and_a_clone_have_what_was_written(
    host: Host, order: DesiredInstance, ssh: Ssh, new_order: Callable[..., DesiredInstance]
) -> None:
    host.start()
    run(host, order)
    ssh.must(order, "echo installed >/root/file")
    stopped = stop(host, order)
    clone = new_order(host, system_disk_gb=1, root=1, root_brought=True, data_disk_gb=0)
    assert copied(host, order, clone).phase == "done"
    run(host, clone)
    assert ssh.must(clone, "cat /root/file") == "installed\n"
    assert FULL in ssh.run(clone, "dd if=/dev/zero of=/root/fill bs=1M count=3000", timeout=60).stderr
    release(host, clone)
    release(host, stopped)


def test_an_agent_killed_while_it_makes_a_disk(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    host.market.want(order)
    host.run_until_killed("created")
    host.start()
    host.market.until_phase(order.id, "running", 1)
    blocks, size = ssh.must(order, "stat -f -c '%b %S' /").split()
    assert int(blocks) * int(size) <= GIB
    release(host, order)


def test_a_full_root_starts_again(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    """So that its renter can tidy up."""
    host.start()
    run(host, order)
    assert FULL in ssh.run(order, "dd if=/dev/zero of=/root/fill bs=64k", timeout=60).stderr
    stopped = stop(host, order)
    again = replace(stopped, generation=3, run="running")
    run(host, again)
    ssh.must(again, "rm /root/fill")
    release(host, again)


def test_an_engine_that_sees_other_mounts_is_told_from_one_that_sees_them(
    host: Host, order: DesiredInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that lives in a mount namespace of its own: its container runs, with nothing between it and the host's disk,
    until it holds too much; then it is stopped, and that is its renter's."""
    monkeypatch.setattr(SystemDisks, "attach", lambda self, layer: None)
    monkeypatch.setattr(root_usage_watch, "GRACE_S", 0.0)
    monkeypatch.setattr(root_usage_watch, "STEP", 64 * MIB)
    (host.state / "root-limit.json").unlink(missing_ok=True)
    host.start()
    host.market.until(lambda report: report.facts is not None and report.facts.root_limit == "none")
    run(host, order)
    host.engine.exec_start(
        host.engine.exec_create(host.containers(order)[0]["Id"], ["fallocate", "-l", "1200M", "/root/fill"])["Id"]
    )
    row = host.market.until_phase(order.id, "failed", 1)
    assert row.failure_code == "system_disk_full"
    eventually(lambda: host.containers(order)[0]["State"] == "exited", "it is stopped")
    release(host, order)


def test_a_chain_of_clones_does_not_grow_beyond_the_disk(
    host: Host, order: DesiredInstance, ssh: Ssh, new_order: Callable[..., DesiredInstance]
) -> None:
    """What was brought lies below the clone's own disk, so a clone of it may hold both together and no more."""
    host.start()
    run(host, order)
    ssh.must(order, "head -c 600M /dev/urandom >/root/first")
    stopped = stop(host, order)
    clone = new_order(host, system_disk_gb=1, root=1, root_brought=True, data_disk_gb=0)
    row = copied(host, order, clone)
    assert row.phase == "done"
    run(host, clone)
    ssh.must(clone, "head -c 600M /dev/urandom >/root/second")
    still = stop(host, clone)
    third = new_order(host, system_disk_gb=1)
    row = copied(host, clone, third)
    assert (row.phase, row.failure_code) == ("failed", "system_disk_full")
    assert saved_layers(host, third) == []
    release(host, still)
    release(host, stopped)


def test_holes_in_a_file_are_no_way_around(
    host: Host, order: DesiredInstance, ssh: Ssh, new_order: Callable[..., DesiredInstance]
) -> None:
    """A copy of the layer is made outside of the disk, and the engine writes each hole out."""
    host.start()
    run(host, order)
    ssh.must(order, "truncate -s 4G /root/holes")
    before = shutil.disk_usage("/var/lib/docker").free
    saved = ended(host, "save_image", instance=order.id, reference=f"berth-saved/{order.id}:1", push="")
    assert (saved.phase, saved.failure_code) == ("failed", "system_disk_full")
    stopped = stop(host, order)
    clone = copied(host, order, new_order(host, system_disk_gb=1))
    assert (clone.phase, clone.failure_code) == ("failed", "system_disk_full")
    assert before - shutil.disk_usage("/var/lib/docker").free < GIB
    release(host, stopped)


def test_a_copy_for_which_the_host_has_no_room_is_not_begun(
    host: Host, order: DesiredInstance, ssh: Ssh, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.start()
    run(host, order)
    ssh.must(order, "head -c 50M /dev/urandom >/root/file")
    monkeypatch.setattr(limited_runtime.LimitedRuntime, "free_image_bytes", lambda self: GIB)
    saved = ended(host, "save_image", instance=order.id, reference=f"berth-saved/{order.id}:1", push="")
    assert (saved.phase, saved.failure_code) == ("failed", "disk_full")
    assert host.engine.images(name=f"berth-saved/{order.id}") == []
    release(host, order)


def test_a_root_survives_a_restart_of_its_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    order = DesiredInstance(uuid.uuid4().hex, 1, 1, "running", TINY, system_disk_gb=1, cpu_millis=100, ram_mb=64)
    with SecondEngine() as engine:
        build_tiny_image(TINY, engine.socket)
        monkeypatch.setenv("DOCKER_HOST", engine.socket)
        systems = SystemDisks(tmp_path, sparse=True)
        runtime = limited_runtime.LimitedRuntime(EngineOptions("b" * 32, open_files=1024), systems, tmp_path)
        assert runtime.root_limit() == "disk"
        runtime.make_network(order.id)
        container = runtime.create(ContainerOrder(order, TINY, str(tmp_path)))
        runtime.start(container)
        with closing(engine.client()) as client:
            client.put_archive(container, "/", limited_runtime._archive({"kept": b"written before"}))
            engine.restart()
            runtime.start(container)
            pieces, _ = client.get_archive(container, "/kept")
            assert b"written before" in b"".join(pieces)
        runtime.stop(container, 1)
        runtime.remove(container)
        runtime.clear(order.id)
        assert runtime.leftovers(order.id) == []
        runtime.close()


def copied(host: Host, source: DesiredInstance, target: DesiredInstance) -> ObservedOperation:
    """How the copying of a root ended."""
    return ended(host, "copy_root", source=source.id, target=target.id, number="1", disk_gb="0")


def ended(host: Host, kind: str, **args: str) -> ObservedOperation:
    """How an operation ended."""
    wanted = OperationOrder(uuid.uuid4().hex, kind, args)
    host.market.ask(wanted)

    def rows(report: Report) -> list[ObservedOperation]:
        return [row for row in report.operations if row.id == wanted.id and row.phase in ("done", "failed")]

    [row] = rows(host.market.until(lambda report: bool(rows(report))))
    host.market.ask()
    return row
