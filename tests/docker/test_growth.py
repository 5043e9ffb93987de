"""A data disk that grows: killed at each step, nothing of it lost, and full at its new size alone. Needs root."""

import os
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.disks import ext4
from agents.daemon.disks.grow import AT_NEXT_START, KIND, NOW, Growth
from agents.daemon.disks.loop_disks import LoopDisks
from agents.daemon.disks.operation_runner import Operation
from agents.daemon.lib.errors import Failed
from agents.daemon.lib.sizes import GIB
from agents.protocol.messages import DesiredInstance, OperationOrder
from tests.docker.conftest import Host, Ssh

pytestmark = pytest.mark.docker  # one engine, one firewall
ID = uuid.uuid4().hex


class Killed(BaseException):
    """The agent is gone."""


@pytest.fixture
def disks(engine: Any, tmp_path: Path) -> Iterator[LoopDisks]:
    made = LoopDisks(tmp_path, sparse=True)
    yield made
    made.delete(ID)


def grow(disks: LoopDisks, size_gb: int, *, kill_at: str = "", sparse: bool = True) -> dict[str, str]:
    def checkpoint(name: str) -> None:
        if name == kill_at:
            raise Killed

    order = OperationOrder(uuid.uuid4().hex, KIND, {"instance": ID, "size_gb": str(size_gb)})
    operator = Growth(disks, sparse=sparse, checkpoint=checkpoint).operators()[KIND]
    return dict(operator(Operation(order, lambda urgent: None)))


def total(mount: Path) -> int:
    found = os.statvfs(mount)
    return found.f_blocks * found.f_frsize


@pytest.mark.parametrize("point", ["", "extended", "widened"])
@pytest.mark.parametrize("mounted", [True, False])
def test_it_is_larger_from_the_next_start_at_the_latest(disks: LoopDisks, point: str, mounted: bool) -> None:
    disks.make(ID, 1)
    mount = disks.mount(ID)
    (mount / "file").write_bytes(b"kept" * 1000)
    image, _ = disks.paths(ID)
    if not mounted:
        assert disks.unmount_and_wait(ID)
    if point:
        with pytest.raises(Killed):
            grow(disks, 3, kill_at=point)
    outcome = grow(disks, 3)  # a new agent begins again
    assert image.stat().st_size == 3 * GIB
    if outcome["applied"] == NOW:
        assert total(mount) > 2 * GIB
    # Its container is started again.
    assert disks.mount(ID) == mount
    assert not ext4.is_short(image)
    assert 2 * GIB < total(mount) < 3 * GIB
    assert (mount / "file").read_bytes() == b"kept" * 1000
    assert grow(disks, 3)["size_gb"] == "3", "twice is as once"
    assert grow(disks, 2)["size_gb"] == "2"
    assert image.stat().st_size == 3 * GIB, "never smaller"


def test_a_disk_that_something_has_mounted_is_not_fitted(disks: LoopDisks, tmp_path: Path) -> None:
    """A container's own view of it keeps the loop device: resizing the file under it would ruin what is written."""
    disks.make(ID, 1)
    mount = disks.mount(ID)
    image, _ = disks.paths(ID)
    other = tmp_path / "container"
    other.mkdir()
    subprocess.run(["mount", "--bind", mount, other], check=True)
    try:
        os.truncate(image, 2 * GIB)
        disks.mount(ID)
        assert ext4.size_of_system(image) == GIB
    finally:
        subprocess.run(["umount", other], check=True)
    disks.mount(ID)
    assert ext4.size_of_system(image) == 2 * GIB


def test_no_room_and_no_disk_are_told(disks: LoopDisks) -> None:
    with pytest.raises(Failed, match="disk_missing"):
        grow(disks, 3)
    disks.make(ID, 1)
    disks.mount(ID)
    with pytest.raises(Failed, match="disk_full"):
        grow(disks, 10**6, sparse=False)
    image, _ = disks.paths(ID)
    assert image.stat().st_size == GIB


def test_under_a_running_container(host: Host, order: DesiredInstance, ssh: Ssh) -> None:
    """Asked for through the exchange: the container goes on, and after its restart at the latest has the room."""
    host.start()
    host.market.want(order)
    host.market.until_phase(order.id, "running", 1)
    ssh.must(order, "echo kept >/data/file")
    before = host.inspect(order)["State"]["StartedAt"]
    wanted = OperationOrder(uuid.uuid4().hex, KIND, {"instance": order.id, "size_gb": "3"})
    host.market.ask(wanted)
    report = host.market.until(lambda report: any(row.phase == "done" for row in report.operations))
    [row] = report.operations
    assert row.outcome["applied"] in (NOW, AT_NEXT_START)
    assert host.inspect(order)["State"]["StartedAt"] == before
    host.market.ask()
    again = replace(order, generation=2, data_disk_gb=3)
    host.market.want(again)
    host.market.until_phase(order.id, "running", 2)
    blocks = int(ssh.must(again, "stat -f -c %b*%S /data | sed 's/\\*/ /' | awk '{print int($1*$2/1048576)}'"))
    assert 2048 < blocks < 3072
    assert ssh.must(again, "cat /data/file") == "kept\n"
    host.market.want(replace(again, run="gone"))
    host.market.until_absent(order.id)
    assert host.leftovers(again) == []
