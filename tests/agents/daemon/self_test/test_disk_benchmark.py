"""The disk test on real files."""

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agents.daemon.self_test import disk_benchmark
from agents.daemon.self_test.disk_benchmark import BLOCK, NearlyFull, measure_disk

SIZE = 8 * BLOCK


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    assert list(tmp_path.iterdir()) == [], "nothing may stay behind"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_benchmark, "RANDOM_SECONDS", 0.1)


def test_a_disk_has_speeds(folder: Path) -> None:
    found = measure_disk(folder, size=SIZE)
    assert min(found.read_mbps, found.write_mbps, found.read_iops, found.write_iops) > 0


def test_a_file_system_without_direct_access_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really = os.open

    def refuse(path: Path, flags: int, mode: int) -> int:
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, "Invalid argument")
        return really(path, flags, mode)

    monkeypatch.setattr(os, "open", refuse)
    found = measure_disk(folder, size=SIZE)
    assert not found.direct
    assert found.read_mbps > 0


def test_any_other_refusal_is_the_disks_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, flags: int, mode: int) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(OSError, match="Read-only"):
        measure_disk(folder, size=SIZE)


def test_what_a_crash_left_is_cleared_away(folder: Path) -> None:
    (folder / disk_benchmark._NAME).write_bytes(b"left over")
    assert measure_disk(folder, size=BLOCK).read_mbps > 0


def test_the_file_has_no_name_while_it_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    sequential = disk_benchmark._sequential

    def watched(*rest: Any) -> tuple[int, float]:
        seen.append(list(folder.iterdir()))
        return sequential(*rest)

    monkeypatch.setattr(disk_benchmark, "_sequential", watched)
    measure_disk(folder, size=BLOCK)
    assert seen == [[], []]


@pytest.mark.parametrize("free", [4 * 1000**3, 5 * 1000**3 + SIZE - 1])
def test_a_disk_that_is_nearly_full_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free, total=50 * 1000**3))
    with pytest.raises(NearlyFull, match="free"):
        measure_disk(folder, size=SIZE)


def test_a_large_disk_keeps_a_share_free(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=90 * 1000**3, total=2000 * 1000**3))
    with pytest.raises(NearlyFull):
        measure_disk(folder, size=SIZE)


def test_a_disk_that_fails_leaves_no_file_either(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(file: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="Input/output"):
        measure_disk(folder, size=SIZE)


def test_a_slow_disk_is_not_written_to_for_long(folder: Path) -> None:
    """Each look at the clock is a second later: after four of them no further block is written."""
    moments = iter(range(10_000))
    written = []
    pwritev = os.pwritev

    def counted(file: int, parts: Any, at: int) -> int:
        written.append(at)
        return pwritev(file, parts, at)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "pwritev", counted)
        measure_disk(folder, size=64 * BLOCK, clock=lambda: float(next(moments)))
    assert len([at for at in written if at % BLOCK == 0 and at >= BLOCK]) <= disk_benchmark.SEQUENTIAL_SECONDS
