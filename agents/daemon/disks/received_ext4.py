"""Check whether an ext4 image from another host may be mounted: only if ours could be like it.

The kernel trusts a file system that root mounts. So the superblock is read here first, without the kernel: no
feature that our own `mkfs` does not set, no external journal, no options of its own, sizes that fit the file. Then
`e2fsck` reads the rest as an ordinary process, limited in time and memory, of a user that owns nothing but this image
meanwhile. Fields of the superblock are named as in
the kernel's ext4.h.
"""

import os
import struct
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from agents.daemon.disks import ext4
from agents.daemon.lib.errors import Failed
from agents.daemon.lib.sizes import GIB

# has_journal, ext_attr, resize_inode, dir_index; orphan_file, which newer mkfs sets.
COMPAT: Final = 0x4 | 0x8 | 0x10 | 0x20 | 0x1000
# filetype, extent, 64bit, flex_bg; needs_recovery, until the journal is replayed; metadata_csum_seed, which newer mkfs sets.
NEEDS_RECOVERY: Final = 0x4
INCOMPAT: Final = 0x2 | NEEDS_RECOVERY | 0x40 | 0x80 | 0x200 | 0x2000
# sparse_super, large_file, huge_file, dir_nlink, extra_isize, metadata_csum; orphan_present, as after a power cut.
RO_COMPAT: Final = 0x1 | 0x2 | 0x8 | 0x20 | 0x40 | 0x400 | 0x10000
METADATA_CSUM: Final = 0x400  # disks that older hosts have made are without it; e2fsck then has more to look at
MUST: Final = (("s_feature_compat", 0x4), ("s_feature_incompat", 0x40))  # an internal journal, and extents

_AT: Final = 1024
_SIZE: Final = 1024
_FIELDS: Final = {
    **{"s_inodes_count": (0x0, "I"), "s_blocks_count_lo": (0x4, "I"), "s_first_data_block": (0x14, "I")},
    **{"s_log_block_size": (0x18, "I"), "s_log_cluster_size": (0x1C, "I"), "s_blocks_per_group": (0x20, "I")},
    **{"s_inodes_per_group": (0x28, "I"), "s_magic": (0x38, "H"), "s_state": (0x3A, "H"), "s_creator_os": (0x48, "I")},
    **{"s_rev_level": (0x4C, "I"), "s_first_ino": (0x54, "I"), "s_inode_size": (0x58, "H")},
    **{"s_feature_compat": (0x5C, "I"), "s_feature_incompat": (0x60, "I"), "s_feature_ro_compat": (0x64, "I")},
    **{"s_uuid": (0x68, "16s"), "s_volume_name": (0x78, "16s"), "s_reserved_gdt_blocks": (0xCE, "H")},
    **{"s_journal_uuid": (0xD0, "16s"), "s_journal_inum": (0xE0, "I"), "s_journal_dev": (0xE4, "I")},
    **{"s_last_orphan": (0xE8, "I"), "s_desc_size": (0xFE, "H"), "s_default_mount_opts": (0x100, "I")},
    **{"s_blocks_count_hi": (0x150, "I"), "s_flags": (0x160, "I"), "s_mmp_interval": (0x166, "H")},
    **{"s_checksum_type": (0x175, "B"), "s_mount_opts": (0x200, "64s"), "s_usr_quota_inum": (0x240, "I")},
    **{"s_grp_quota_inum": (0x244, "I"), "s_encrypt_algos": (0x254, "4s"), "s_encoding": (0x27C, "H")},
}
_CLEAN: Final = 1
_JOURNAL_INODE: Final = 8
_DESCRIPTOR: Final = 64
_LARGEST_LOG: Final = 2  # blocks of 4 KiB
_INODE_SIZES: Final = (128, 256, 512, 1024)
_MOUNT_OPTIONS: Final = 0x4 | 0x8  # user_xattr, acl
_FLAGS: Final = 0x1 | 0x2  # how directories are hashed
_CRC32C: Final = 1

TIME_S: Final = 1800.0
_LOOK_S: Final = 0.1
_MEMORY: Final = GIB  # and what grows with the disk: maps of its blocks and inodes
_MEMORY_SHARE: Final = 1024
_MENDED: Final = 1  # e2fsck's exit status for a file system that it has repaired
_FAULTY: Final = 4  # bit of the exit status: faults are left
_SHELLS: Final = 64  # from here on a status is not e2fsck's own, such as 127: it is not there
_SAID: Final = 120

NOBODY: Final = 65534
"""User and group of `e2fsck`."""

Check = Callable[[], None]


def check_received(image: Path, keys: Collection[str], go_on: Check = lambda: None) -> None:
    """Check a received image, whose label must be that of one of `keys` or empty.

    `go_on` is called at intervals, and may raise to abort.

    Raises:
        Failed: The image must not be mounted (`bad_parcel`: its sender is at fault; `operation_failed`: this host could
            not check it).
    """
    for fault in faults_of(image, keys):
        raise _refused(fault)
    limits = _limits(image)
    if _is_dirty(image):  # as after a power cut: a process replays the journal, not the kernel
        _e2fsck(limits, "-p", image, go_on, most=_MENDED)
    _e2fsck(limits, "-n", image, go_on, most=0)
    for fault in faults_of(image, keys):  # the journal may have replaced blocks, even the superblock
        raise _refused(fault)
    if _is_dirty(image):
        raise _refused("its journal could not be replayed")


def faults_of(image: Path, keys: Collection[str]) -> Iterator[str]:
    """Yield what the superblock has that ours would not."""
    found = fields_of(image)
    if not found or found["s_magic"] != ext4.MAGIC:
        yield "it holds no ext4 file system"
        return
    yield from _odd_features(found)
    yield from (f"{name} is {found[name]!r}" for name, is_sane in _sane(found).items() if not is_sane)
    block = 1024 << min(found["s_log_block_size"], _LARGEST_LOG)
    blocks = found["s_blocks_count_lo"] + (found["s_blocks_count_hi"] << 32)
    if not 0 < blocks * block <= image.stat().st_size:
        yield f"its {blocks} blocks do not fit its file"
    label = found["s_volume_name"].rstrip(b"\0").decode("latin-1")
    if label not in ("", *map(ext4.label_of, keys)):
        yield f"its label is {label!r}"


def fields_of(image: Path) -> dict[str, Any]:
    """Return the fields of the superblock by name; empty for a file that is too short to have one."""
    with image.open("rb") as file:
        file.seek(_AT)
        head = file.read(_SIZE)
    if len(head) < _SIZE:
        return {}
    return {name: struct.unpack_from(f"<{form}", head, place)[0] for name, (place, form) in _FIELDS.items()}


def _odd_features(found: dict[str, Any]) -> Iterator[str]:
    for name, known in (("s_feature_compat", COMPAT), ("s_feature_incompat", INCOMPAT), ("s_feature_ro_compat", RO_COMPAT)):
        if odd := found[name] & ~known:
            yield f"{name} has {odd:#x}, which no disk of ours has"
    for name, needed in MUST:
        if needed & ~found[name]:
            yield f"{name} lacks {needed & ~found[name]:#x}"


def _sane(found: dict[str, Any]) -> dict[str, bool]:
    block = 1024 << min(found["s_log_block_size"], _LARGEST_LOG)
    bits = 8 * block  # in one block: a group has one block for each of its bitmaps
    return {
        "s_log_block_size": found["s_log_block_size"] <= _LARGEST_LOG,
        "s_log_cluster_size": found["s_log_cluster_size"] == found["s_log_block_size"],
        "s_first_data_block": found["s_first_data_block"] == int(block == 1024),  # noqa: PLR2004
        "s_blocks_per_group": found["s_blocks_per_group"] == bits,
        "s_inodes_per_group": 0 < found["s_inodes_per_group"] <= bits,
        "s_inodes_count": found["s_inodes_count"] > 0,
        "s_creator_os": found["s_creator_os"] == 0,
        "s_rev_level": found["s_rev_level"] == 1,
        "s_first_ino": found["s_first_ino"] == 11,  # noqa: PLR2004
        "s_inode_size": found["s_inode_size"] in _INODE_SIZES,
        "s_uuid": found["s_uuid"] != bytes(16),
        "s_reserved_gdt_blocks": found["s_reserved_gdt_blocks"] <= block // 4,
        "s_journal_uuid": found["s_journal_uuid"] == bytes(16),
        "s_journal_inum": found["s_journal_inum"] == _JOURNAL_INODE,
        "s_journal_dev": found["s_journal_dev"] == 0,
        "s_desc_size": found["s_desc_size"] == (_DESCRIPTOR if found["s_feature_incompat"] & 0x80 else 0),
        "s_default_mount_opts": not found["s_default_mount_opts"] & ~_MOUNT_OPTIONS,
        "s_flags": not found["s_flags"] & ~_FLAGS,
        "s_mmp_interval": found["s_mmp_interval"] == 0,
        "s_checksum_type": found["s_checksum_type"] == (_CRC32C if found["s_feature_ro_compat"] & METADATA_CSUM else 0),
        "s_mount_opts": found["s_mount_opts"] == bytes(64),
        "s_usr_quota_inum": found["s_usr_quota_inum"] == 0,
        "s_grp_quota_inum": found["s_grp_quota_inum"] == 0,
        "s_encrypt_algos": found["s_encrypt_algos"] == bytes(4),
        "s_encoding": found["s_encoding"] == 0,
    }


def _is_dirty(image: Path) -> bool:
    found = fields_of(image)
    recovery = found["s_feature_incompat"] & NEEDS_RECOVERY
    return bool(recovery or found["s_last_orphan"] or found["s_state"] != _CLEAN)


def _limits(image: Path) -> tuple[str, ...]:
    return ("prlimit", f"--as={_MEMORY + image.stat().st_size // _MEMORY_SHARE}", "--core=0", f"--cpu={int(TIME_S)}")


def _e2fsck(limits: tuple[str, ...], how: str, image: Path, go_on: Check, *, most: int) -> None:
    end = time.monotonic() + TIME_S
    with _lent(image) as (path, options):
        command = [*limits, "e2fsck", "-f", how, path]
        # Fixed programs and a path of our own. Output about a damaged disk may have no end, and is not read.
        with subprocess.Popen(command, **options) as process:  # noqa: S603
            try:
                while process.poll() is None:
                    go_on()
                    if time.monotonic() > end:
                        raise _unchecked("e2fsck takes too long")
                    time.sleep(_LOOK_S)
            finally:
                process.kill()
    status = process.returncode
    if 0 <= status <= most:
        return
    if 0 < status < _SHELLS and status & _FAULTY:  # any other is its own trouble: no memory, an error of reading, a signal
        raise _refused(f"e2fsck {how} ends with {status}")
    raise _unchecked(f"e2fsck {how} ends with {status}")


@contextmanager
def _lent(image: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the image's path for a process of NOBODY, which owns the image meanwhile, and how to start that process.

    The image lies in folders that only root may enter, so the process gets it by a descriptor. It has no group, no
    capability, and nothing else open. An agent that is not root has nothing to drop.
    """
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    if os.geteuid() != 0:
        yield str(image), options
        return
    with image.open("r+b") as file:
        before = os.fstat(file.fileno())
        os.fchown(file.fileno(), NOBODY, NOBODY)
        try:
            as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": (), "cwd": "/", "pass_fds": (file.fileno(),)}
            yield f"/proc/self/fd/{file.fileno()}", options | as_nobody
        finally:
            os.fchown(file.fileno(), before.st_uid, before.st_gid)


def _unchecked(why: str) -> Failed:
    return Failed("operation_failed", f"The disk that arrived could not be checked on this host: {why}.")


def _refused(fault: str) -> Failed:
    return Failed("bad_parcel", f"The file system that arrived is not one that is made here: {fault[:_SAID]}.")
