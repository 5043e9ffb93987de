"""Speed of the agent's disk, measured with a file of limited size, bypassing the page cache.

The file is deleted as soon as it is open, so that nothing of it remains, however the agent ends.
"""

import errno
import mmap
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BLOCK: Final = 1024 * 1024
PAGE: Final = 4096
SIZE: Final = 256 * BLOCK
SEQUENTIAL_SECONDS: Final = 4.0
RANDOM_SECONDS: Final = 1.0
KEPT_FREE: Final = 5 * 1000**3
KEPT_SHARE: Final = 0.05
_NAME: Final = "speed-test"
_DIRECT: Final = getattr(os, "O_DIRECT", 0)


class NearlyFull(Exception):
    """The disk has too little room to be tested."""


@dataclass(frozen=True)
class DiskSpeed:
    """Result of the benchmark.

    Sequential MB/s in blocks of 1 MiB; random operations per second in pages of 4 KiB, one at a time. `direct`: the
    page cache was bypassed; where the file system does not support that, the cache was emptied instead.
    """

    read_mbps: float
    write_mbps: float
    read_iops: float
    write_iops: float
    direct: bool


def measure_disk(folder: Path, *, size: int = SIZE, clock: Callable[[], float] = time.monotonic) -> DiskSpeed:
    """Measure the disk; takes about ten seconds at most.

    Raises:
        NearlyFull: The disk has too little room.
        OSError: The disk fails.
    """
    room = shutil.disk_usage(folder)
    if room.free < max(KEPT_FREE, KEPT_SHARE * room.total) + size:
        raise NearlyFull(f"{room.free // 1000**3} GB of {room.total // 1000**3} GB are free")
    with _scratch(folder) as (file, direct), mmap.mmap(-1, BLOCK) as memory:
        memory.write(os.urandom(BLOCK))  # incompressible for any file system
        with memoryview(memory) as block, block[:PAGE] as page:
            written, write_mbps = _sequential(lambda at: os.pwritev(file, [block], at), size, lambda: os.fsync(file), clock)
            _forget(file)
            _, read_mbps = _sequential(lambda at: os.preadv(file, [block], at), written, lambda: None, clock)
            _forget(file)
            read_iops = _random(lambda at: os.preadv(file, [page], at), written, lambda: None, clock)
            write_iops = _random(lambda at: os.pwritev(file, [page], at), written, lambda: os.fdatasync(file), clock)
    return DiskSpeed(read_mbps, write_mbps, read_iops, write_iops, direct)


@contextmanager
def _scratch(folder: Path) -> Iterator[tuple[int, bool]]:
    path = folder / _NAME
    path.unlink(missing_ok=True)
    try:
        file, direct = _open(path)
    finally:
        path.unlink(missing_ok=True)
    try:
        yield file, direct
    finally:
        os.close(file)


def _open(path: Path) -> tuple[int, bool]:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    if _DIRECT:
        try:
            return os.open(path, flags | _DIRECT, 0o600), True
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
    return os.open(path, flags, 0o600), False


def _forget(file: int) -> None:
    """Drop the file's pages from the page cache, in case it was not bypassed."""
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def _sequential(
    move: Callable[[int], int], size: int, settle: Callable[[], None], clock: Callable[[], float]
) -> tuple[int, float]:
    """Return (bytes moved, MB/s) of at most SEQUENTIAL_SECONDS and the time of `settle`."""
    begun, moved = clock(), 0
    while moved < size and clock() - begun < SEQUENTIAL_SECONDS:
        moved += move(moved)
    settle()
    return moved, moved / 1e6 / max(clock() - begun, 1e-9)


def _random(move: Callable[[int], int], size: int, settle: Callable[[], None], clock: Callable[[], float]) -> float:
    pages = max(1, size // PAGE)
    begun, count = clock(), 0
    while clock() - begun < RANDOM_SECONDS:
        move(random.randrange(pages) * PAGE)  # noqa: S311 the position of a page is no secret
        count += 1
    settle()
    return count / max(clock() - begun, 1e-9)
