"""A disk that is gone from a host, for real: the start fails and says which, and nothing is made in its place."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agents.daemon.system_disks import mounted_at
from agents.protocol.messages import DesiredInstance
from tests.docker.conftest import Host, Ssh

pytestmark = [pytest.mark.docker, pytest.mark.xdist_group("docker")]


def run(host: Host, order: DesiredInstance) -> DesiredInstance:
    host.market.want(order)
    host.market.until_phase(order.id, "running", order.generation)
    return order


def stopped(host: Host, order: DesiredInstance) -> DesiredInstance:
    after = replace(order, generation=order.generation + 1, run="stopped")
    host.market.want(after)
    host.market.until_phase(order.id, "stopped", after.generation)
    return after


def taken_away(image: Path, to: Path) -> None:
    """As a folder that is not mounted after a reboot."""
    for place in mounted_at(image):
        subprocess.run(["umount", place], check=True)
    image.rename(to)


def failure_of_start(host: Host, order: DesiredInstance) -> str:
    host.market.want(order)
    return host.market.until_phase(order.id, "failed", order.generation).failure_code


@pytest.mark.parametrize("forgetful", [False, True], ids=["", "journal lost too"])
def test_a_data_disk(host: Host, order: DesiredInstance, ssh: Ssh, tmp_path: Path, *, forgetful: bool) -> None:
    host.start()
    run(host, order)
    ssh.must(order, "echo kept >/data/file")
    at_rest = replace(stopped(host, order), data_disk_made=True)
    host.stop()
    image = host.state / "disks" / f"{order.id}.ext4"
    taken_away(image, tmp_path / "elsewhere")
    if forgetful:
        (host.state / "journal").unlink()
    host.start()
    first = replace(at_rest, generation=3, run="running")
    assert failure_of_start(host, first) == "data_disk_missing"
    assert not image.exists() and not (host.state / "mounts" / order.id).is_mount()

    (tmp_path / "elsewhere").rename(image)
    second = run(host, replace(first, generation=4))
    assert ssh.must(second, "cat /data/file") == "kept\n"


def test_a_system_disk(host: Host, new_order: Callable[..., DesiredInstance], ssh: Ssh, tmp_path: Path) -> None:
    order = new_order(host, system_disk_gb=1)
    host.start()
    run(host, order)
    ssh.must(order, "echo kept >/root/file")
    at_rest = stopped(host, order)
    [image] = (host.state / "systems").glob(f"{order.id}.*")
    taken_away(image, tmp_path / "elsewhere")
    first = replace(at_rest, generation=3, run="running")
    assert failure_of_start(host, first) == "root_lost"
    assert not image.exists()

    (tmp_path / "elsewhere").rename(image)
    second = run(host, replace(first, generation=4))
    assert ssh.must(second, "cat /root/file") == "kept\n"
