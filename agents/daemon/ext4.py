"""Sizes of ext4 file systems in image files, read from the superblock, and fitting one to a file that was made larger."""

import struct
import subprocess
import time
from pathlib import Path
from typing import Final

_SUPERBLOCK: Final = 1024
_HEAD: Final = 0x160  # so much of it is read
_MAGIC: Final = 0xEF53
_TIMEOUT: Final = 3600
_DETACHED_WITHIN_S: Final = 30.0
_LOOK_AGAIN_S: Final = 0.05
_REPAIRED: Final = 2  # e2fsck's statuses up to here leave a whole file system


class Unfit(OSError):
    """The file system could not be made larger; it is as it was."""


def size_of_system(image: Path) -> int:
    """Bytes of the file system in the image; 0 for a file that holds none."""
    with image.open("rb") as file:
        file.seek(_SUPERBLOCK)
        head = file.read(_HEAD)
    if len(head) < _HEAD or struct.unpack_from("<H", head, 0x38)[0] != _MAGIC:
        return 0
    low, log_size, high = (struct.unpack_from("<I", head, place)[0] for place in (0x4, 0x18, 0x150))
    return int((low + (high << 32)) << (10 + log_size))


def is_short(image: Path) -> bool:
    """Whether the file has been made larger than the file system in it."""
    return 0 < size_of_system(image) < image.stat().st_size


def is_attached(image: Path) -> bool:
    """Whether a loop device still stands on the file: then something has it mounted, here or in a container."""
    return bool(_run("losetup", "-n", "-O", "NAME", "-j", str(image)).strip())


def wait_until_detached(image: Path) -> bool:
    """False when one still stands on the file after half a minute. The last mount to go writes what is left."""
    end = time.monotonic() + _DETACHED_WITHIN_S
    while is_attached(image):
        if time.monotonic() > end:
            return False
        time.sleep(_LOOK_AGAIN_S)
    return True


def fit(image: Path) -> None:
    """Make the file system as large as its file. Nothing may have it mounted. Raises Unfit."""
    checked = subprocess.run(  # noqa: S603  (a fixed program and a path of our own)
        ["e2fsck", "-f", "-p", str(image)],  # noqa: S607
        capture_output=True,
        text=True,
        timeout=_TIMEOUT,
        check=False,
    )
    if checked.returncode > _REPAIRED:
        raise Unfit(f"e2fsck: {(checked.stdout + checked.stderr).strip()}"[:300])
    _run("resize2fs", str(image))


def widen(mount: Path) -> None:
    """The same while it is mounted and in use. Raises Unfit where the kernel does not let us."""
    device = _run("findmnt", "-n", "-o", "SOURCE", "--mountpoint", str(mount)).strip()
    _run("losetup", "-c", device)
    _run("resize2fs", device)


def _run(*command: str) -> str:
    # Fixed programs, and arguments made of our own paths.
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)  # noqa: S603
    if done.returncode != 0:
        raise Unfit(f"{command[0]}: {done.stderr.strip() or done.returncode}"[:300])
    return done.stdout
