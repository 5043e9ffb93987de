"""Sizes, labels and growth of ext4 file systems in image files, read from the superblock."""

import hashlib
import os
import struct
import subprocess
import time
from pathlib import Path
from typing import Final

_SUPERBLOCK: Final = 1024
_HEAD: Final = 0x160  # bytes of it that are read
MAGIC: Final = 0xEF53
_LABEL: Final = 16  # bytes
_BLOCK: Final = Path("/sys/dev/block")
_DELETED: Final = " (deleted)"
_READ_ONLY: Final = frozenset({"ro", "emergency_ro"})  # the latter since Linux 6.13
_TIMEOUT: Final = 3600
_DETACHED_WITHIN_S: Final = 30.0
_LOOK_AGAIN_S: Final = 0.05
_REPAIRED: Final = 2  # e2fsck's exit statuses up to this one leave a consistent file system
# The error policy stored in the file system is overridden: one from another host may ask for a kernel panic.
OPTIONS: Final = "loop,nosuid,nodev,noatime,errors=remount-ro"


class Unfit(OSError):
    """The file system could not be enlarged or labelled; it is unchanged."""


def label_of(key: str) -> str:
    """Return the label of the disk of an instance, volume or root.

    It is 64 bits of a hash, since a label has no room for more.
    """
    return hashlib.sha256(key.encode()).hexdigest()[:_LABEL]


def read_label(image: Path) -> str | None:
    """Return the label of the file system in the image; None for a file that holds none."""
    head = _superblock(image)
    return None if head is None else head[0x78 : 0x78 + _LABEL].rstrip(b"\0").decode("latin-1")


def relabel(image: Path, key: str) -> None:
    """Label the file system in the image as that of `key`; leave a file that holds none.

    Raises:
        Unfit: e2label failed.
    """
    if read_label(image) not in (None, label_of(key)):
        _run("e2label", str(image), label_of(key))


def size_of_system(image: Path) -> int:
    """Return the bytes of the file system in the image; 0 for a file that holds none."""
    head = _superblock(image)
    if head is None:
        return 0
    low, log_size, high = (struct.unpack_from("<I", head, place)[0] for place in (0x4, 0x18, 0x150))
    return int((low + (high << 32)) << (10 + log_size))


def _superblock(image: Path) -> bytes | None:
    with image.open("rb") as file:
        file.seek(_SUPERBLOCK)
        head = file.read(_HEAD)
    return head if len(head) == _HEAD and struct.unpack_from("<H", head, 0x38)[0] == MAGIC else None


def is_short(image: Path) -> bool:
    """Return whether the file was made larger than the file system in it."""
    return 0 < size_of_system(image) < image.stat().st_size


def is_attached(image: Path) -> bool:
    """Return whether a loop device uses the file, because it is mounted here or in a container."""
    return bool(_run("losetup", "-n", "-O", "NAME", "-j", str(image)).strip())


def fault_of(mount: Path, image: Path) -> str:
    """Return the fault of a mounted disk, "" if it has none.

    "missing": the image file is gone, or another one is in its place. "read_only": the kernel refuses writes, as it
    does after errors of the underlying disk.
    """
    device = mount.stat().st_dev
    try:
        backing = (_BLOCK / f"{os.major(device)}:{os.minor(device)}" / "loop/backing_file").read_text().rstrip("\n")
    except FileNotFoundError:
        backing = str(image)  # not mounted through a loop device
    if backing.endswith(_DELETED) or not image.exists():
        return "missing"
    return "read_only" if _READ_ONLY & set(_options_of(device)) else ""


def _options_of(device: int) -> list[str]:
    """Return the options of the file system itself, since a read-only bind mount of it is no fault."""
    name = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        if line.split()[2] == name:
            return line.rpartition(" ")[2].split(",")
    return []


def wait_until_detached(image: Path) -> bool:
    """Wait until no loop device uses the file; return False if one still does after half a minute.

    The last unmount writes the remaining data.
    """
    end = time.monotonic() + _DETACHED_WITHIN_S
    while is_attached(image):
        if time.monotonic() > end:
            return False
        time.sleep(_LOOK_AGAIN_S)
    return True


def fit_to_file(image: Path) -> None:
    """Enlarge the file system to the size of its file, which must not be mounted.

    Raises:
        Unfit: A tool failed.
    """
    checked = subprocess.run(  # noqa: S603 (a fixed program and a path of our own)
        ["e2fsck", "-f", "-p", str(image)],  # noqa: S607
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if checked.returncode > _REPAIRED:
        raise Unfit(f"e2fsck: {(checked.stdout + checked.stderr).strip()}"[:300])
    _run("resize2fs", str(image))


def grow_mounted(mount: Path) -> None:
    """Enlarge a mounted file system, in use, to the size of its file.

    Raises:
        Unfit: The kernel refuses it.
    """
    device = _run("findmnt", "-n", "-o", "SOURCE", "--mountpoint", str(mount)).strip()
    _run("losetup", "-c", device)
    _run("resize2fs", device)


def _run(*command: str) -> str:
    # Fixed programs, with arguments made of our own paths.
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)  # noqa: S603
    if done.returncode != 0:
        raise Unfit(f"{command[0]}: {done.stderr.strip() or done.returncode}"[:300])
    return done.stdout
