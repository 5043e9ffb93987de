"""A disk that is gone from a host, for real: the start fails and says which, and nothing is made in its place."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agents.daemon.disks.system_disks import mounted_at
from agents.protocol.messages import DesiredInstance
from tests.docker.conftest import Host, Ssh

pytestmark = pytest.mark.docker


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


def trouble_with(host: Host, key: str, trouble: str) -> None:
    host.market.until(lambda report: any((disk.id, disk.trouble) == (key, trouble) for disk in report.disks))


def test_under_a_running_instance(host: Host, order: DesiredInstance, ssh: Ssh, tmp_path: Path) -> None:
    """Told while its programs still have it; what comes back under the same mount is well again."""
    host.market.report_interval_s = 1.0
    host.start()
    run(host, order)
    ssh.must(order, "echo kept >/data/file")
    trouble_with(host, order.id, "")

    image, away = host.state / "disks" / f"{order.id}.ext4", tmp_path / "elsewhere"
    image.rename(away)  # as when the folder is unmounted
    trouble_with(host, order.id, "missing")
    assert ssh.must(order, "cat /data/file") == "kept\n"
    away.rename(image)
    trouble_with(host, order.id, "")

    mount = str(host.state / "mounts" / order.id)
    subprocess.run(["mount", "-o", "remount,ro", mount], check=True)
    trouble_with(host, order.id, "read_only")
    subprocess.run(["mount", "-o", "remount,rw", mount], check=True)
    trouble_with(host, order.id, "")

    image.unlink()
    trouble_with(host, order.id, "missing")
    os.close(os.open(image, os.O_CREAT, 0o600))  # a file of that name is not that disk
    trouble_with(host, order.id, "missing")
    assert ssh.must(order, "echo more >>/data/file; cat /data/file") == "kept\nmore\n"
    assert host.market.reports[-1].instances[0].phase == "running"
