"""Copies of disk images: equal to the byte, holes kept, only what changed written again, damage seen."""

from pathlib import Path

import pytest

from agents.daemon.disks.block_copy import BLOCK, allocated_bytes, checksum_of, copy_changed_blocks, sums_on_disk
from agents.daemon.disks.volume_store import LoopVolumes, SimulatedVolumes, checked_id
from agents.daemon.lib.errors import Failed
from agents.protocol.messages import Mount

SIZE = 8 * BLOCK + 4096


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image"
    with path.open("wb") as file:
        file.truncate(SIZE)
        for place in (0, 3 * BLOCK + 17, SIZE - 1):
            file.seek(place)
            file.write(b"x")
    return path


def test_a_copy_is_equal_and_keeps_its_holes(image: Path, tmp_path: Path) -> None:
    progress: list[int] = []
    sums = copy_changed_blocks(image, tmp_path / "copy", {}, progress.append)
    assert (tmp_path / "copy").read_bytes() == image.read_bytes()
    assert sorted(sums) == [0, 3, 8]
    assert sum(progress) == 2 * BLOCK + 4096
    assert allocated_bytes(tmp_path / "copy") < SIZE // 2
    assert sums_on_disk(tmp_path / "copy", lambda _: None) == sums


def test_the_second_pass_writes_what_has_changed_alone(image: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    known = copy_changed_blocks(image, copy, {}, lambda _: None)
    with image.open("r+b") as file:
        file.seek(3 * BLOCK + 17)
        file.write(b"\0")  # all zeros now
        file.seek(5 * BLOCK)
        file.write(b"new")
    with copy.open("r+b") as file:
        file.write(b"y")  # behind its back, where nothing has changed: left as it is, and found by the check
    sums = copy_changed_blocks(image, copy, known, lambda _: None)
    assert sorted(sums) == [0, 5, 8]
    assert sums_on_disk(copy, lambda _: None) != sums
    with copy.open("r+b") as file:
        file.write(b"x")
    assert copy.read_bytes() == image.read_bytes()
    assert sums_on_disk(copy, lambda _: None) == sums


def test_a_checksum_is_of_content_place_and_size_not_of_holes(image: Path, tmp_path: Path) -> None:
    sums = sums_on_disk(image, lambda _: None)
    dense = tmp_path / "dense"
    dense.write_bytes(image.read_bytes())
    assert checksum_of(sums_on_disk(dense, lambda _: None), SIZE) == checksum_of(sums, SIZE)
    assert checksum_of(sums, SIZE + 1) != checksum_of(sums, SIZE)
    assert checksum_of({place + 1: digest for place, digest in sums.items()}, SIZE) != checksum_of(sums, SIZE)


@pytest.mark.parametrize("name", ["../etc", "a/b", "", "A", "-a", "a" * 41])
def test_what_the_control_plane_names_cannot_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    store = LoopVolumes(tmp_path, sparse=True)
    with pytest.raises(Failed):
        store.bind([Mount("a" * 32, "volume", name, 1)])
    with pytest.raises(Failed):
        store.bind([Mount("../../etc/passwd", "volume", "fine", 1)])
    with pytest.raises(Failed):
        checked_id("../" + "a" * 29)
    assert list((tmp_path / "volumes" / "disks").iterdir()) == []
    assert SimulatedVolumes().bind([Mount("a" * 32, "volume", name, 1)]) == ()
