"""Block-wise copies of disk images, which keep holes and return a checksum for every block."""

import errno
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

BLOCK: Final = 4 * 1024**2
_ZEROS: Final = bytes(BLOCK)
_FREEZE: Final = 0xC0045877  # FIFREEZE: writers wait, and the file system on the disk is complete and clean
_THAW: Final = 0xC0045878  # FITHAW

Sums = dict[int, bytes]
"""Block number → SHA-256, for the blocks that are not all zeros."""


def copy_changed_blocks(source: Path, target: Path, known: Mapping[int, bytes], copied: Callable[[int], None]) -> Sums:
    """Make `target` equal to `source`.

    `known` are the checksums of the blocks that `target` already has. `copied` is called with the size of each
    block read.
    """
    sums: Sums = {}
    with source.open("rb") as read, target.open("r+b" if target.exists() else "w+b") as write:
        os.fchmod(write.fileno(), 0o600)
        size = os.fstat(read.fileno()).st_size
        os.ftruncate(write.fileno(), size)
        for number, block in _blocks(read.fileno(), size):
            sums[number] = hashlib.sha256(block).digest()
            if known.get(number) != sums[number]:
                _write(write.fileno(), block, number * BLOCK)
            copied(len(block))
        for number in known.keys() - sums.keys():
            _write(write.fileno(), _ZEROS[: min(BLOCK, size - number * BLOCK)], number * BLOCK)
        os.fsync(write.fileno())
    return sums


def sums_on_disk(path: Path, checked: Callable[[int], None]) -> Sums:
    """Return the checksums of the file as it is on the disk, bypassing the page cache."""
    with path.open("rb") as read:
        os.posix_fadvise(read.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        sums: Sums = {}
        for number, block in _blocks(read.fileno(), os.fstat(read.fileno()).st_size):
            sums[number] = hashlib.sha256(block).digest()
            checked(len(block))
    return sums


def checksum_of(sums: Mapping[int, bytes], size: int) -> str:
    """Return one checksum over the size and all blocks that are not zeros, with their positions."""
    whole = hashlib.sha256(size.to_bytes(8))
    for number in sorted(sums):
        whole.update(number.to_bytes(8) + sums[number])
    return whole.hexdigest()


def allocated_bytes(path: Path) -> int:
    return path.stat().st_blocks * 512


@contextmanager
def frozen(mount: Path) -> Iterator[None]:
    """Freeze the mounted file system in the block; programs that write to it wait."""
    folder = os.open(mount, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.ioctl(folder, _FREEZE, 0)
        except OSError as error:
            if error.errno != errno.EBUSY:  # already frozen, by an agent that was killed
                raise
        try:
            yield
        finally:
            fcntl.ioctl(folder, _THAW, 0)
    finally:
        os.close(folder)


def thaw(mount: Path) -> None:
    """Thaw a file system that a killed agent left frozen; do nothing to any other."""
    folder = os.open(mount, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.ioctl(folder, _THAW, 0)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTTY):
            raise
    finally:
        os.close(folder)


def _blocks(file: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the blocks that are not all zeros, in order; holes are skipped without reading."""
    number = 0
    while number * BLOCK < size:
        try:
            begin = os.lseek(file, number * BLOCK, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # a hole up to the end
                return
            raise
        number = begin // BLOCK
        block = os.pread(file, BLOCK, number * BLOCK)
        if block != _ZEROS[: len(block)]:
            yield number, block
        number += 1


def _write(file: int, block: bytes, place: int) -> None:
    left = memoryview(block)
    while left:
        written = os.pwrite(file, left, place)
        left, place = left[written:], place + written
