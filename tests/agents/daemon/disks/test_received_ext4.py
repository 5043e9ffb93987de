"""File systems that came from another host: those of ours pass, and whatever else its owner may have written is refused.

Nothing here is mounted but by `debugfs`, which is an ordinary program.
"""

import os
import random
import struct
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from agents.daemon.disks import ext4, received_ext4
from agents.daemon.disks.loop_disks import LoopDisks, format_image
from agents.daemon.disks.received_ext4 import (
    _FIELDS,
    COMPAT,
    INCOMPAT,
    MUST,
    RO_COMPAT,
    check_received,
    faults_of,
    fields_of,
)
from agents.daemon.lib.errors import Failed, Superseded
from agents.daemon.lib.sizes import GIB
from tests.agents.daemon.transfer import test_instance_transfer, test_volume_transfer
from tests.agents.daemon.transfer.test_instance_transfer import SOURCE, TARGET, Exchange

KEYS: Final = (SOURCE, TARGET)
MIB: Final = 1024 * 1024


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A disk as the agent makes it, with files and a folder in it."""
    disks = LoopDisks(tmp_path, sparse=True)
    disks.make(SOURCE, 1)
    path, _ = disks.paths(SOURCE)
    (tmp_path / "content").write_bytes(bytes(range(256)) * 4096)
    debug(path, "mkdir folder", *(f"write {tmp_path / 'content'} folder/file{number}" for number in range(20)))
    return path


def debug(image: Path, *requests: str) -> None:
    done = subprocess.run(
        ["debugfs", "-w", "-f", "-", str(image)], input="\n".join(requests), capture_output=True, text=True, check=True
    )
    assert "File not found" not in done.stderr, done.stderr


def write_field(image: Path, name: str, value: Any) -> None:
    place, form = _FIELDS[name]
    with image.open("r+b") as file:
        file.seek(1024 + place)
        file.write(struct.pack(f"<{form}", value))


def test_a_disk_of_ours_passes_and_is_left_as_it_is(image: Path) -> None:
    before = image.read_bytes()
    check_received(image, KEYS)
    assert image.read_bytes() == before


def test_a_disk_of_an_older_host_passes(image: Path) -> None:
    """Made by its own defaults: without checksums of its metadata."""
    options = ("-q", "-F", "-O", "^metadata_csum,^orphan_file,^metadata_csum_seed", "-L", ext4.label_of(SOURCE))
    subprocess.run(["mkfs.ext4", *options, str(image)], check=True)
    check_received(image, KEYS)


@pytest.mark.parametrize("status", [8, 127, -9])
def test_what_this_host_cannot_check_is_no_fault_of_the_sender(
    image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """e2fsck without memory, without a disk that it could read, or ended by somebody."""
    end = f"kill -{-status} $$" if status < 0 else f"exit {status}"
    for name, text in (("e2fsck", end), ("prlimit", 'while [ "${1#--}" != "$1" ]; do shift; done; exec "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    for folder in (tmp_path, *tmp_path.parents):  # these programs are anybody's
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(folder.stat().st_mode | 0o111)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(Failed) as caught:
        check_received(image, KEYS)
    assert caught.value.code == "operation_failed"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has privileges to drop")
def test_e2fsck_runs_as_nobody_and_sees_the_image_alone(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It repairs and reads an image that lies where only root may look, and the image is root's again afterwards."""
    image.parent.chmod(0o700)
    image.chmod(0o600)
    debug(image, "ssv state 0")  # not cleanly unmounted
    seen: list[tuple[str, list[str], str]] = []
    real = subprocess.Popen

    def look(command: list[str], **options: Any) -> "subprocess.Popen[bytes]":
        process = real(command, **options)
        status = Path(f"/proc/{process.pid}/status").read_text()
        held = [line for line in status.splitlines() if line.startswith(("Uid", "Gid", "Groups", "CapEff", "CapPrm"))]
        seen.append((command[-1], held, str(image.stat().st_uid)))
        return process

    monkeypatch.setattr(subprocess, "Popen", look)
    check_received(image, KEYS)
    assert fields_of(image)["s_state"] == 1
    assert len(seen) == 2, "a repair, and a look"
    for path, held, owner in seen:
        assert path.startswith("/proc/self/fd/") and owner == "65534"
        assert [line.split()[1:] for line in held] == [["65534"] * 4, ["65534"] * 4, [], ["0" * 16], ["0" * 16]]
    assert (image.stat().st_uid, image.stat().st_gid) == (0, 0)


def test_what_is_taken_is_what_our_mkfs_makes(tmp_path: Path) -> None:
    """Of every size; what newer versions of mkfs add is named beside it, and nothing more."""
    newer = {"s_feature_compat": 0x1000, "s_feature_incompat": 0x2000, "s_feature_ro_compat": 0}
    at_work = {"s_feature_compat": 0, "s_feature_incompat": 0x4, "s_feature_ro_compat": 0x10000}
    known = {"s_feature_compat": COMPAT, "s_feature_incompat": INCOMPAT, "s_feature_ro_compat": RO_COMPAT}
    for number, size in enumerate((GIB, 3 * GIB, 600 * GIB, 5000 * GIB)):
        path = tmp_path / str(number)
        with path.open("wb") as file:
            file.truncate(size)
        format_image(path, ext4.label_of(SOURCE))
        assert list(faults_of(path, KEYS)) == []
        made = fields_of(path)
        for name, bits in known.items():
            assert made[name] | newer[name] | at_work[name] == bits, name
        path.unlink()
    assert all(bits & known[name] == bits for name, bits in MUST)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("s_magic", 0xEF54),
        ("s_feature_compat", COMPAT | 0x200),  # sparse_super2
        ("s_feature_compat", 0x38),  # no journal
        ("s_feature_incompat", INCOMPAT | 0x1),  # compression
        ("s_feature_incompat", INCOMPAT | 0x8),  # a journal device
        ("s_feature_incompat", INCOMPAT | 0x100),  # multiple mount protection
        ("s_feature_incompat", INCOMPAT | 0x400),  # extended attributes in inodes
        ("s_feature_incompat", INCOMPAT | 0x10000),  # encryption
        ("s_feature_incompat", INCOMPAT | 0x20000),  # case folding
        ("s_feature_ro_compat", RO_COMPAT | 0x100),  # quotas
        ("s_feature_ro_compat", RO_COMPAT | 0x200),  # clusters of blocks
        ("s_feature_ro_compat", RO_COMPAT | 0x8000),  # verity
        ("s_feature_ro_compat", RO_COMPAT & ~0x400),  # no checksums
        ("s_log_block_size", 6),
        ("s_log_block_size", 0xFFFFFFFF),
        ("s_log_cluster_size", 4),
        ("s_blocks_count_lo", GIB // 4096 + 1),
        ("s_blocks_count_lo", 0),
        ("s_blocks_count_hi", 1),
        ("s_blocks_per_group", 0),
        ("s_blocks_per_group", 0x7FFF),
        ("s_inodes_per_group", 0),
        ("s_inodes_per_group", 0xFFFFFFFF),
        ("s_first_data_block", 1),
        ("s_creator_os", 1),
        ("s_rev_level", 0),
        ("s_inode_size", 0),
        ("s_inode_size", 4096),
        ("s_uuid", bytes(16)),
        ("s_volume_name", b"another's disk"),
        ("s_reserved_gdt_blocks", 0xFFFF),
        ("s_journal_uuid", b"\1" * 16),
        ("s_journal_inum", 12),
        ("s_journal_dev", 0x801),
        ("s_desc_size", 32),
        ("s_default_mount_opts", 0xC | 0x20),
        ("s_flags", 0x4),
        ("s_checksum_type", 2),
        ("s_mount_opts", b"init_itable=0".ljust(64, b"\0")),
        ("s_usr_quota_inum", 3),
        ("s_encrypt_algos", b"\1\0\0\0"),
        ("s_encoding", 1),
    ],
)
def test_a_field_that_ours_would_not_have_is_refused_unread(
    image: Path, name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_field(image, name, value)
    monkeypatch.setattr(received_ext4, "_e2fsck", lambda *args, **more: pytest.fail("it went on to e2fsck"))
    with pytest.raises(Failed, match="bad_parcel"):
        check_received(image, KEYS)


def test_labels_of_the_same_disk_pass(image: Path) -> None:
    """On its way, of an agent that was killed after it had written its own; and from before disks had labels."""
    ext4.relabel(image, TARGET)
    check_received(image, KEYS)
    subprocess.run(["e2label", image, ""], check=True)
    check_received(image, KEYS)
    ext4.relabel(image, "e" * 32)
    with pytest.raises(Failed, match="its label is"):
        check_received(image, KEYS)


def test_no_file_system_and_half_a_file_are_refused(image: Path, tmp_path: Path) -> None:
    for content in (b"", b"short", bytes(MIB)):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(Failed, match="holds no ext4"):
            check_received(tmp_path / "other", KEYS)
    with image.open("r+b") as file:
        file.truncate(GIB // 2)
    with pytest.raises(Failed, match="do not fit"):
        check_received(image, KEYS)


def _bitmap(image: Path) -> None:
    debug(image, "freeb 1100 40", "setb 200000 9")


def _inode(image: Path) -> None:
    debug(image, "set_inode_field folder/file4 block[5] 0xFFFFFF0")


def _loop(image: Path) -> None:
    debug(image, "link folder folder/again")


def _journal(image: Path) -> None:
    debug(image, "set_inode_field <8> mode 0")


def _checksum(image: Path) -> None:
    write_field(image, "s_inodes_count", fields_of(image)["s_inodes_count"] - 1)


@pytest.mark.parametrize("harm", [_bitmap, _inode, _loop, _journal, _checksum])
def test_what_lies_deeper_is_found_by_e2fsck(image: Path, harm: Callable[[Path], None]) -> None:
    harm(image)
    with pytest.raises(Failed, match="e2fsck"):
        check_received(image, KEYS)


@pytest.mark.parametrize("seed", range(12))
def test_seeded_damage_of_metadata_is_refused(image: Path, seed: int) -> None:
    """One bit anywhere in the superblock, the group descriptors, or the inodes in use: all of them have checksums."""
    dice = random.Random(seed)
    start, length = dice.choice([(1024, 0x250), (4096, 8 * 64), (inode_table(image), 11 * 256)])
    with image.open("r+b") as file:
        place = start + dice.randrange(length)
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1 << dice.randrange(8)]))
    with pytest.raises(Failed, match="bad_parcel"):
        check_received(image, KEYS)


def inode_table(image: Path) -> int:
    with image.open("rb") as file:
        file.seek(4096 + 8)
        return int(struct.unpack("<I", file.read(4))[0]) * 4096


def test_a_journal_that_was_not_replayed_is_taken_up_without_the_kernel(image: Path) -> None:
    """As after a power cut of its host; and one that brings a field of its own into the superblock is found out by it."""
    debug(image, "jo", "jw -b 5000 /dev/null", "jc")
    assert fields_of(image)["s_feature_incompat"] & received_ext4.NEEDS_RECOVERY
    check_received(image, KEYS)
    assert not fields_of(image)["s_feature_incompat"] & received_ext4.NEEDS_RECOVERY
    head = bytearray(image.read_bytes()[:4096])
    head[1024 + 0x200 : 1024 + 0x200 + 8] = b"data=jou"
    (image.parent / "head").write_bytes(head)
    debug(image, "jo", f"jw -b 0 {image.parent / 'head'}", "jc")
    with pytest.raises(Failed, match="bad_parcel"):
        check_received(image, KEYS)


def test_e2fsck_has_bounds(image: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(received_ext4, "_MEMORY", 3 * MIB)
        patch.setattr(received_ext4, "_MEMORY_SHARE", GIB)
        with pytest.raises(Failed, match="e2fsck"):
            check_received(image, KEYS)
    with monkeypatch.context() as patch:
        patch.setattr(received_ext4, "TIME_S", 0.0)
        patch.setattr(received_ext4, "_limits", lambda image: ("sleep", "60"))
        with pytest.raises(Failed, match="operation_failed"):
            check_received(image, KEYS)
    ended = threading.Event()

    def given_up() -> None:
        ended.set()
        raise Superseded

    with pytest.raises(Superseded):
        check_received(image, KEYS, given_up)
    assert ended.is_set()


def test_a_hostile_data_disk_is_the_senders_fault_and_the_source_stays(tmp_path: Path) -> None:
    here = test_instance_transfer.Place(tmp_path / "here", holds=True)
    there = test_instance_transfer.Place(tmp_path / "there", holds=False)
    write_field(here.disk(SOURCE), "s_feature_incompat", INCOMPAT | 0x10000)
    before = here.disk(SOURCE).stat()
    met = test_instance_transfer.both(here, there, Exchange())
    assert isinstance(met, Failed) and met.code == "bad_parcel"
    assert not there.disk(TARGET).exists() and not there.roots.is_there(TARGET, 0)
    assert here.disk(SOURCE).stat() == before
    again = there.operators(lambda pair, ticket: pytest.fail("it dialled"))["receive_root"]
    with pytest.raises(Failed, match="bad_parcel"):  # also of an agent that was started anew meanwhile
        again(test_instance_transfer.operation("receive_root", side=1))


def test_a_hostile_volume_is_the_senders_fault_and_the_source_stays(tmp_path: Path) -> None:
    here = test_volume_transfer.Place(tmp_path / "here", holds=True)
    there = test_volume_transfer.Place(tmp_path / "there", holds=False)
    debug(here.image(SOURCE), "set_inode_field <2> mode 0100644")
    before = here.image(SOURCE).stat()
    met = test_volume_transfer.both(here, there, Exchange())
    assert isinstance(met, Failed) and met.code == "bad_parcel"
    assert not there.image(test_volume_transfer.TARGET).exists()
    assert here.image(SOURCE).stat() == before
