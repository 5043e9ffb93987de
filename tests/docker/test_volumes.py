"""Data disks for real: made whole, mounted safely, taken away without a trace. Needs root, as a host does."""

import errno
import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.volumes import GIB, DiskFull, DiskTrouble, LoopDisks

pytestmark = [pytest.mark.docker, pytest.mark.xdist_group("docker")]  # one engine, one firewall
ID = uuid.uuid4().hex


@pytest.fixture
def disks(engine: Any, tmp_path: Path) -> Iterator[LoopDisks]:
    made = LoopDisks(tmp_path, sparse=True)
    yield made
    made.drop(ID)


def test_a_disk_is_made_once_and_kept(disks: LoopDisks, tmp_path: Path) -> None:
    mount = disks.ensure(ID, 1)
    assert mount.is_mount()
    (mount / "file").write_text("kept")
    assert disks.ensure(ID, 1) == mount
    subprocess.run(["umount", mount], check=True)
    assert disks.used_mb(ID) == 0
    assert (disks.ensure(ID, 1) / "file").read_text() == "kept"
    assert disks.used_mb(ID) >= 0
    image = tmp_path / "disks" / f"{ID}.ext4"
    assert image.stat().st_size == GIB
    assert image.stat().st_mode & 0o777 == 0o600


def test_it_is_full_inside_alone(disks: LoopDisks, tmp_path: Path) -> None:
    mount = disks.ensure(ID, 1)
    free = os.statvfs(tmp_path).f_bavail
    with (mount / "big").open("wb") as file, pytest.raises(OSError, match="No space left") as caught:
        os.posix_fallocate(file.fileno(), 0, 2 * GIB)
    assert caught.value.errno == errno.ENOSPC
    assert os.statvfs(tmp_path).f_bavail > free - 2 * GIB // 4096


def test_it_leaves_nothing(disks: LoopDisks) -> None:
    disks.ensure(ID, 1)
    assert len(disks.leftovers(ID)) == 2
    disks.drop(ID)
    assert disks.leftovers(ID) == []
    assert ID not in Path("/proc/mounts").read_text()
    assert ID not in subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout
    disks.drop(ID)


def test_half_a_disk_is_no_disk(disks: LoopDisks, tmp_path: Path) -> None:
    """A crash while formatting: the next one starts over, and dropping takes the half away too."""
    half = tmp_path / "disks" / f"{ID}.new"
    half.write_bytes(b"half")
    disks.ensure(ID, 1)
    assert disks.leftovers(ID)
    disks.drop(ID)
    half.write_bytes(b"half")
    disks.drop(ID)
    assert not half.exists()


def test_a_promise_is_kept_by_taking_the_room_at_once(tmp_path: Path, engine: Any) -> None:
    dense = LoopDisks(tmp_path, sparse=False)
    dense.ensure(ID, 1)
    image = tmp_path / "disks" / f"{ID}.ext4"
    assert image.stat().st_blocks * 512 >= GIB
    dense.drop(ID)


def test_no_room_is_told_before_anything_is_left(tmp_path: Path, engine: Any) -> None:
    dense = LoopDisks(tmp_path, sparse=False)
    with pytest.raises(DiskFull):
        dense.ensure(ID, 10**6)
    assert dense.leftovers(ID) == []
    assert list((tmp_path / "disks").iterdir()) == []


def test_a_mount_that_fails_says_why(disks: LoopDisks, tmp_path: Path) -> None:
    (tmp_path / "disks" / f"{ID}.ext4").write_bytes(b"not a file system")
    with pytest.raises(DiskTrouble, match="mount"):
        disks.ensure(ID, 1)
