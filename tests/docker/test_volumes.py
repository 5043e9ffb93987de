"""Data disks for real: made whole, mounted safely, taken away without a trace. Needs root, as a host does."""

import errno
import os
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.disks import ext4
from agents.daemon.disks.loop_disks import DiskCommandFailed, DiskFull, DiskMissing, LoopDisks
from agents.daemon.lib.sizes import GIB

pytestmark = pytest.mark.docker  # one engine, one firewall
ID = uuid.uuid4().hex


@pytest.fixture
def disks(engine: Any, tmp_path: Path) -> Iterator[LoopDisks]:
    own = LoopDisks(tmp_path, sparse=True)
    yield own
    own.delete(ID)


def made(disks: LoopDisks) -> Path:
    disks.make(ID, 1)
    return disks.mount(ID)


def test_a_disk_is_made_once_and_kept(disks: LoopDisks, tmp_path: Path) -> None:
    mount = made(disks)
    assert mount.is_mount()
    (mount / "file").write_text("kept")
    assert made(disks) == mount
    subprocess.run(["umount", mount], check=True)
    assert disks.used_mb(ID) == 0
    assert (made(disks) / "file").read_text() == "kept"
    assert disks.used_mb(ID) >= 0
    image = tmp_path / "disks" / f"{ID}.ext4"
    assert image.stat().st_size == GIB
    assert image.stat().st_mode & 0o777 == 0o600


def test_it_is_full_inside_alone(disks: LoopDisks, tmp_path: Path) -> None:
    mount = made(disks)
    free = os.statvfs(tmp_path).f_bavail
    with (mount / "big").open("wb") as file, pytest.raises(OSError, match="No space left") as caught:
        os.posix_fallocate(file.fileno(), 0, 2 * GIB)
    assert caught.value.errno == errno.ENOSPC
    assert os.statvfs(tmp_path).f_bavail > free - 2 * GIB // 4096


def test_it_leaves_nothing(disks: LoopDisks) -> None:
    made(disks)
    assert len(disks.leftovers(ID)) == 2
    disks.delete(ID)
    assert disks.leftovers(ID) == []
    assert ID not in Path("/proc/mounts").read_text()
    assert ID not in subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=True).stdout
    disks.delete(ID)


def test_half_a_disk_is_no_disk(disks: LoopDisks, tmp_path: Path) -> None:
    """A crash while formatting: the next one starts over, and dropping takes the half away too."""
    half = tmp_path / "disks" / f"{ID}.new"
    half.write_bytes(b"half")
    made(disks)
    assert disks.leftovers(ID)
    disks.delete(ID)
    half.write_bytes(b"half")
    disks.delete(ID)
    assert not half.exists()


def test_a_promise_is_kept_by_taking_the_room_at_once(tmp_path: Path, engine: Any) -> None:
    dense = LoopDisks(tmp_path, sparse=False)
    made(dense)
    image = tmp_path / "disks" / f"{ID}.ext4"
    assert image.stat().st_blocks * 512 >= GIB
    dense.delete(ID)


def test_no_room_is_told_before_anything_is_left(tmp_path: Path, engine: Any) -> None:
    dense = LoopDisks(tmp_path, sparse=False)
    with pytest.raises(DiskFull):
        dense.make(ID, 10**6)
    assert dense.leftovers(ID) == []
    assert list((tmp_path / "disks").iterdir()) == []


def test_a_mount_that_fails_says_why(disks: LoopDisks, tmp_path: Path) -> None:
    disks.make(ID, 1)
    with (tmp_path / "disks" / f"{ID}.ext4").open("r+b") as file:
        file.seek(1024 + 0x60)  # what a kernel must know to mount it
        file.write(b"\xff" * 4)
    with pytest.raises(DiskCommandFailed, match="mount"):
        disks.mount(ID)


def test_a_lost_disk_is_not_replaced_by_an_empty_one(disks: LoopDisks, tmp_path: Path) -> None:
    image, elsewhere = tmp_path / "disks" / f"{ID}.ext4", tmp_path / "elsewhere"
    (made(disks) / "file").write_text("kept")
    subprocess.run(["umount", tmp_path / "mounts" / ID], check=True)
    image.rename(elsewhere)
    with pytest.raises(DiskMissing, match="not among the disks"):
        disks.mount(ID)
    assert not image.exists()
    elsewhere.rename(image)
    assert (disks.mount(ID) / "file").read_text() == "kept"


def test_the_disk_of_another_is_not_mounted(disks: LoopDisks, tmp_path: Path) -> None:
    other, folder = uuid.uuid4().hex, tmp_path / "disks"
    disks.make(other, 1)
    (folder / f"{other}.ext4").rename(folder / f"{ID}.ext4")
    with pytest.raises(DiskMissing, match="another disk"):
        disks.mount(ID)
    (folder / f"{ID}.ext4").write_bytes(bytes(4096))
    with pytest.raises(DiskMissing, match="no file system"):
        disks.mount(ID)


def test_a_disk_of_another_host_does_not_end_this_machine(disks: LoopDisks, tmp_path: Path) -> None:
    """A superblock may ask for a panic of the kernel at the first error, and its host can see to one."""
    disks.make(ID, 1)
    subprocess.run(["tune2fs", "-e", "panic", tmp_path / "disks" / f"{ID}.ext4"], check=True, capture_output=True)
    mount = disks.mount(ID)
    lines = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    [options] = [words[3].split(",") for words in lines if words[1] == str(mount)]
    assert "errors=remount-ro" in options


def test_a_disk_from_before_there_were_labels_gets_its_own(disks: LoopDisks, tmp_path: Path) -> None:
    image = tmp_path / "disks" / f"{ID}.ext4"
    disks.make(ID, 1)
    subprocess.run(["e2label", image, ""], check=True)
    disks.mount(ID)
    assert ext4.read_label(image) == ext4.label_of(ID)


@contextmanager
def not_writable(folder: Path) -> Iterator[None]:
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder, folder], check=True)
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_disk_that_takes_no_writes_is_not_handed_out(disks: LoopDisks, tmp_path: Path) -> None:
    """`mount` itself says nothing and makes it one for reading alone: an instance would run, and pay, with that."""
    (made(disks) / "file").write_text("kept")
    disks.unmount_and_wait(ID)
    with not_writable(tmp_path / "disks"), pytest.raises(DiskMissing, match="takes no writes"):
        disks.mount(ID)
    assert not disks.paths(ID)[1].is_mount()
    mount = disks.mount(ID)
    subprocess.run(["mount", "-o", "remount,ro", mount], check=True)  # as the kernel does after an error
    assert (disks.mount(ID) / "file").read_text() == "kept"
    (mount / "file").write_text("written")


def test_a_disk_that_was_cut_short_is_told_and_left_as_it_is(disks: LoopDisks) -> None:
    made(disks)
    disks.unmount_and_wait(ID)
    image, mount = disks.paths(ID)
    os.truncate(image, GIB // 2)
    with pytest.raises(DiskMissing, match="536870912 bytes of its file system are gone"):
        disks.mount(ID)
    assert image.stat().st_size == GIB // 2 and not mount.is_mount()


def test_what_lies_on_a_file_that_is_gone_is_not_the_disk(disks: LoopDisks, tmp_path: Path) -> None:
    """Still mounted from before: what is written there would vanish with the mount."""
    (made(disks) / "file").write_text("kept")
    image, _ = disks.paths(ID)
    subprocess.run(["sync", "-f", made(disks)], check=True)
    subprocess.run(["cp", "--sparse=always", image, tmp_path / "restored"], check=True)
    image.unlink()
    (tmp_path / "restored").rename(image)
    (disks.mount(ID) / "file").write_text("written")
    disks.unmount_and_wait(ID)
    assert (disks.mount(ID) / "file").read_text() == "written"


def test_a_folder_in_the_place_of_a_disk_is_told(disks: LoopDisks) -> None:
    image, _ = disks.paths(ID)
    image.mkdir()
    with pytest.raises(DiskMissing, match="cannot be read"):
        disks.mount(ID)
    image.rmdir()
