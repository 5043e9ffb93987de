"""A data disk that something else on the host still has mounted is not copied: what was written may not be in it yet."""

import subprocess
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agents.daemon.disks import ext4
from agents.daemon.disks.loop_disks import LoopDisks

pytestmark = pytest.mark.docker
ID = uuid.uuid4().hex
WRITTEN = b"written a moment before the stop" * 4096


@pytest.fixture
def disks(engine: Any, tmp_path: Path) -> Iterator[LoopDisks]:
    made = LoopDisks(tmp_path, sparse=True)
    yield made
    made.delete(ID)


@contextmanager
def container_being_made() -> Iterator[subprocess.Popen[str]]:
    """What an engine does first for each container: a copy of all mounts of the host."""
    words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", "echo ready; exec cat"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()


def read_elsewhere(image: Path, place: Path) -> bytes:
    """What is in a copy of the image that is made now."""
    copied = place / "copy.ext4"
    subprocess.run(["cp", "--sparse=always", image, copied], check=True)
    folder = place / "looked"
    folder.mkdir()
    subprocess.run(["mount", "-o", "loop", copied, folder], check=True)
    try:
        return (folder / "file").read_bytes()
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_disk_is_at_rest_when_the_last_of_its_mounts_is_gone(disks: LoopDisks, tmp_path: Path) -> None:
    disks.make(ID, 1)
    mount = disks.mount(ID)
    image, _ = disks.paths(ID)
    with container_being_made() as other:
        (mount / "file").write_bytes(WRITTEN)
        assert other.stdin is not None
        later = threading.Timer(1.0, other.stdin.close)
        later.start()
        assert disks.unmount_and_wait(ID)
        found = read_elsewhere(image, tmp_path)
        later.join()
    assert found == WRITTEN


def test_what_keeps_a_disk_mounted_for_good_is_told(disks: LoopDisks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ext4, "_DETACHED_WITHIN_S", 0.2)
    disks.make(ID, 1)
    disks.mount(ID)
    with container_being_made():
        assert not disks.unmount_and_wait(ID)
    assert disks.unmount_and_wait(ID)
