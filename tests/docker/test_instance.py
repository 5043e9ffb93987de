"""One instance on a real engine, from the order to the proof of absence."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.market import renamed
from tests.docker.conftest import Host, Ssh, eventually

pytestmark = pytest.mark.docker  # one engine, one firewall
NewOrder = Callable[..., DesiredInstance]


def test_a_renter_uses_stops_starts_and_releases_an_instance(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    market = host.market
    host.start()
    market.want(order)
    row = market.until_phase(order.id, "running", 1)
    assert row.gpu_uuids == order.gpu_uuids
    assert row.container == host.inspect(order)["Id"]
    assert ssh.must(order, "echo kept >/data/file; echo kept >/root/file; whoami").strip() == "root"
    seen = dict(line.split("=", 1) for line in ssh.must(order, "env").splitlines() if "=" in line)
    assert seen["NVIDIA_VISIBLE_DEVICES"] == order.gpu_uuids[0]
    assert seen["BERTH_SIMULATED_GPUS"] == "1"

    market.want(replace(order, run="stopped"))
    market.until_phase(order.id, "stopped", 1)
    assert [item["State"] for item in host.containers(order)] == ["exited"]
    # As after a reboot of the host: the data disk is not mounted any more.
    subprocess.run(["umount", host.state / "mounts" / order.id], check=True)

    again = renamed(order)
    market.want(again)
    market.until_phase(order.id, "running", 2)
    assert ssh.must(again, "cat /data/file /root/file").split() == ["kept", "kept"]
    assert len(host.containers(order)) == 1

    market.want(replace(again, run="gone", fence=2))
    market.until_absent(order.id)
    assert host.leftovers(order) == []
    market.forget(order.id)
    market.until(lambda report: not report.absent)


def test_other_gpus_get_a_new_container_with_the_old_root(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    market = host.market
    host.start()
    market.want(order)
    market.until_phase(order.id, "running", 1)
    ssh.must(order, "echo data >/data/file; echo root >/root/file; rm /etc/motd")
    old = host.inspect(order)["Id"]
    fingerprint = ssh.must(order, "cat /etc/ssh/ssh_host_ed25519_key.pub")

    moved = order
    for generation, gpu in ((2, 1), (3, 2)):
        market.want(replace(moved, run="stopped"))
        market.until_phase(order.id, "stopped")
        assert market.facts is not None
        moved = replace(order, generation=generation, fence=generation, gpu_uuids=[market.facts.gpus[gpu].uuid])
        market.want(moved)
        assert market.until_phase(order.id, "running", generation).gpu_uuids == moved.gpu_uuids
        assert ssh.must(moved, "test ! -e /etc/motd; cat /data/file /root/file").split() == ["data", "root"]
        assert ssh.must(moved, "cat /etc/ssh/ssh_host_ed25519_key.pub") == fingerprint
        assert f"NVIDIA_VISIBLE_DEVICES={moved.gpu_uuids[0]}" in ssh.must(moved, "env")
        eventually(lambda: len(host.containers(order)) == 1, "the old container is discarded")
        assert host.inspect(moved)["Id"] != old
        assert host.inspect(moved)["Config"]["Image"] == f"berth-root/{order.id}:{generation}"

    assert market.facts is not None
    assert market.facts.images
    assert not any("berth-root" in name for name in market.facts.images)
    market.want(replace(moved, run="gone"))
    market.until_absent(order.id)
    assert host.leftovers(order) == []


def test_restart_is_a_new_generation_of_the_same_container(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    market = host.market
    host.start()
    market.want(order)
    market.until_phase(order.id, "running", 1)
    first = host.inspect(order)
    again = renamed(order)
    market.want(again)
    market.until_phase(order.id, "running", 2)
    second = host.inspect(again)
    assert second["Id"] == first["Id"]
    assert second["State"]["StartedAt"] > first["State"]["StartedAt"]
    assert ssh.must(again, "true") == ""


def test_a_full_data_disk_is_full_inside_alone(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    market = host.market
    host.start()
    market.want(order)
    market.until_phase(order.id, "running", 1)
    full = ssh.run(order, "fallocate -l 900M /data/most && dd if=/dev/zero of=/data/rest bs=1M count=200", timeout=60)
    assert full.returncode != 0
    assert "No space left on device" in full.stderr
    size = int(ssh.must(order, "df --output=size -B1M /data | tail -1"))
    assert 900 < size <= 1024
    assert ssh.must(order, "echo alive >/root/file; cat /root/file; findmnt -no OPTIONS /data || grep /data /proc/mounts")
    assert market.until_phase(order.id, "running", 1)
    options = next(line for line in Path("/proc/mounts").read_text().splitlines() if order.id in line).split()[3]
    assert {"nosuid", "nodev"} <= set(options.split(","))


def test_keys_change_while_the_instance_runs(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    market = host.market
    host.start()
    market.want(order)
    market.until_phase(order.id, "running", 1)
    market.want(replace(order, ssh_keys=[]))
    eventually(lambda: ssh.run(order, "true").returncode != 0, "the key is taken away")
    market.want(order)
    eventually(lambda: ssh.run(order, "true").returncode == 0, "the key is back")
    assert "Read-only" in ssh.run(order, "echo mine >/run/berth/authorized_keys").stderr


def test_an_end_that_nobody_ordered_is_told_at_once(host: Host, order: DesiredInstance) -> None:
    market = host.market
    host.start()
    market.want(order)
    market.until_phase(order.id, "running", 1)
    host.engine.kill(host.inspect(order)["Id"])
    row = market.until_phase(order.id, "exited", 1, patience=5)
    assert row.failure_code == "killed", "by the host, through its engine"
    # It is not started again until the control plane says so.
    assert [item["State"] for item in host.containers(order)] == ["exited"]


def test_a_gpu_in_use_is_refused(host: Host, order: DesiredInstance, new_order: NewOrder) -> None:
    market = host.market
    host.start()
    market.want(order)
    market.until_phase(order.id, "running", 1)
    rival = new_order(host)
    market.want(rival)
    assert market.until_phase(rival.id, "failed", 1).failure_code == "gpu_conflict"
    assert market.until_phase(order.id, "running", 1)
    assert host.inspect(rival)["State"]["Running"] is False


def test_a_missing_image_and_one_that_ends_at_once(host: Host, new_order: NewOrder) -> None:
    market = host.market
    host.start()
    absent = new_order(host, image="berth/never-built:1", data_disk_gb=0)
    market.want(absent)
    assert market.until_phase(absent.id, "failed", 1, patience=5).failure_code == "image_missing"
    brief = new_order(host, image="debian:bookworm-slim", data_disk_gb=0)
    market.want(brief)
    assert market.until_phase(brief.id, "failed", 1).failure_code == "start_failed"
    market.want(*(replace(item, run="gone") for item in (absent, brief)))
    market.until(lambda report: {absent.id, brief.id} <= set(report.absent))


def test_a_container_nobody_names_is_reported_and_left_alone(host: Host, order: DesiredInstance) -> None:
    market = host.market
    host.start()
    market.want(order)
    market.until_phase(order.id, "running", 1)
    market.forget(order.id)
    report = market.until(lambda report: bool(report.foreign))
    assert report.foreign == [f"berth-{order.id}-1"]
    assert host.inspect(order)["State"]["Running"] is True


def test_samples_are_real(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    market = host.market
    market.report_interval_s = 1.0
    host.start()
    market.want(order)
    market.until_phase(order.id, "running", 1)
    ssh.must(order, "timeout 6 sh -c 'while :; do :; done' & head -c 50000000 /dev/zero >/data/big; wait")
    report = market.until(lambda report: any(row.sample for row in report.instances))
    sample = report.instances[0].sample
    assert sample is not None
    assert 5 < sample.cpu_pct < 80  # half a core is its share
    assert 0 < sample.ram_mb < 512
    assert sample.disk_mb >= 47
    assert sample.rx_bytes > 0
    assert [gpu.uuid for gpu in sample.gpus] == order.gpu_uuids
