"""The agent killed at every point of every action: the next one finds what is there and ends where it should."""

import time
from dataclasses import replace

import pytest

from agents.protocol.messages import DesiredInstance
from tests.agents.daemon.market import renamed
from tests.docker.conftest import Host, Ssh, eventually

pytestmark = [pytest.mark.docker, pytest.mark.xdist_group("docker")]  # one engine, one firewall

LAUNCH = ["started", "tested", "accepted"]


def _settle(host: Host, order: DesiredInstance) -> None:
    """Exactly one container is left, it runs, and it is the one that was asked for."""
    host.market.until_phase(order.id, "running", order.generation)
    eventually(lambda: len(host.containers(order)) == 1, "one container is left")
    found = host.inspect(order)
    assert found["State"]["Running"] is True
    assert found["HostConfig"]["NetworkMode"] == f"berth-{order.id}"


def _release(host: Host, order: DesiredInstance) -> None:
    host.market.want(replace(order, run="gone"))
    host.market.until_absent(order.id)
    assert host.leftovers(order) == []


@pytest.mark.parametrize("point", ["access", "disk", "network", "created", *LAUNCH])
def test_fault_013_014_015_killed_while_creating(host: Host, order: DesiredInstance, point: str, ssh: Ssh) -> None:
    host.market.want(order)
    host.run_until_killed(point)
    before = host.containers(order)
    assert len(before) <= 1
    host.start()
    _settle(host, order)
    if before:
        assert host.inspect(order)["Id"] == before[0]["Id"], "adopted, not made again"
    assert ssh.must(order, "id -un").strip() == "root"
    _release(host, order)


@pytest.fixture
def rented(host: Host, order: DesiredInstance, ssh: Ssh) -> DesiredInstance:
    """Running, with files on both disks, its agent ended."""
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    ssh.must(order, "echo kept >/data/file; echo kept >/root/file; sync")
    host.stop()
    return order


@pytest.mark.parametrize("point", ["halted", "intended", "renamed", *LAUNCH])
def test_killed_while_restarting(host: Host, rented: DesiredInstance, point: str, ssh: Ssh) -> None:
    again = renamed(rented)
    host.market.want(again)
    host.run_until_killed(point)
    host.start()
    _settle(host, again)
    assert ssh.must(again, "cat /data/file /root/file").split() == ["kept", "kept"]
    _release(host, again)


@pytest.mark.parametrize("point", ["halted", "saved", "network", "created", *LAUNCH, "removed"])
def test_fault_043_killed_while_moving_to_other_gpus(host: Host, rented: DesiredInstance, point: str, ssh: Ssh) -> None:
    assert host.market.facts is not None
    moved = renamed(rented, fence=2, gpu_uuids=[host.market.facts.gpus[2].uuid])
    host.market.want(moved)
    host.run_until_killed(point)
    alive = [item for item in host.containers(moved) if item["State"] == "running"]
    assert len(alive) <= 1
    host.start()
    _settle(host, moved)
    assert ssh.must(moved, "cat /data/file /root/file").split() == ["kept", "kept"]
    assert f"NVIDIA_VISIBLE_DEVICES={moved.gpu_uuids[0]}" in ssh.must(moved, "env")
    _release(host, moved)


@pytest.mark.parametrize("point", ["halted", "removed", "cleared", "disk-removed"])
def test_killed_while_removing(host: Host, rented: DesiredInstance, point: str) -> None:
    gone = replace(rented, run="gone", fence=2)
    host.market.want(gone)
    host.run_until_killed(point)
    host.start()
    host.market.until_absent(gone.id)
    assert host.leftovers(gone) == []


def test_killed_while_stopping(host: Host, rented: DesiredInstance) -> None:
    host.market.want(replace(rented, run="stopped"))
    host.run_until_killed("stopped")
    host.start()
    host.market.until_phase(rented.id, "stopped", 1)
    _release(host, rented)


def test_a_running_instance_is_adopted_as_it_is(host: Host, rented: DesiredInstance, ssh: Ssh) -> None:
    """Also when the renter has ended sshd since: the acceptance test is not taken twice."""
    before = host.inspect(rented)["State"]["StartedAt"]
    ssh.run(rented, "rm /usr/sbin/sshd; pkill -x sshd")
    reports = len(host.market.reports)
    host.start()
    host.market.until(lambda _: len(host.market.reports) > reports)
    first = host.market.reports[reports]
    assert [row.phase for row in first.instances] == ["running"], "told before the first answer of this boot"
    assert host.inspect(rented)["State"]["StartedAt"] == before
    assert first.instances[0].run_seconds > 0


def test_fault_026_nothing_starts_before_the_control_plane_has_spoken(host: Host, rented: DesiredInstance) -> None:
    host.engine.stop(host.inspect(rented)["Id"], timeout=1)  # as after a reboot: ended, and restart policy "no"
    host.market.trouble = ["503"] * 3
    host.start()
    time.sleep(0.5)
    assert host.inspect(rented)["State"]["Running"] is False
    row = host.market.until_phase(rented.id, "exited", 1)
    assert row.failure_code == "exited"
