"""What is left of a killed agent's work goes: nothing that is whole, that is still named, or that is new."""

import os
from pathlib import Path

import pytest

from agents.daemon.engine.interface import EngineSilent
from agents.daemon.transfer.cleanup import TransferCleanup, chain_cleanups, delete_incomplete_files

OLD = 1_600_000_000
TARGET, ORDER, OTHER = "a" * 32, "b" * 32, "c" * 32


def make(path: Path, *, at: float = OLD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("content")
    os.utime(path, (at, at))
    return path


def trip(state: Path, place: str, order: str, *, at: float = OLD) -> Path:
    folder = make(state / place / f"{TARGET}-{order}" / "root.tar").parent
    os.utime(folder, (at, at))
    return folder


def test_half_made_disks_and_lone_cards_go(tmp_path: Path) -> None:
    delete_incomplete_files(tmp_path)  # of a host that has nothing yet
    gone = [
        make(tmp_path / name)
        for name in (
            f"disks/{TARGET}.new",
            f"volumes/disks/{TARGET}.new",
            f"snapshots/{TARGET}.new",
            f"snapshots/{ORDER}.json",
        )
    ]
    gone += [make(tmp_path / name) for name in (f"snapshots/{OTHER}.card", f"access/{TARGET}/.password")]
    kept = [
        make(tmp_path / name)
        for name in (
            f"disks/{TARGET}.ext4",
            f"volumes/disks/{TARGET}.ext4",
            f"snapshots/{OTHER}.ext4",
            f"snapshots/{OTHER}.json",
        )
    ]
    delete_incomplete_files(tmp_path)
    assert [path for path in gone if path.exists()] == []
    assert [path for path in kept if not path.exists()] == []


def test_parcels_that_nobody_names_go_and_the_engine_forgets_them(tmp_path: Path) -> None:
    forgotten: list[str] = []
    unnamed = [trip(tmp_path, place, OTHER) for place in ("moves", "volumes/moves")]
    named = trip(tmp_path, "moves", ORDER)
    trips = TransferCleanup(tmp_path, forgotten.append)
    fresh = trip(tmp_path, "moves", "d" * 32, at=trips._born + 10)
    trips.tidy({ORDER})
    assert [folder.exists() for folder in (*unnamed, named, fresh)] == [False, False, True, True]
    assert forgotten == [OTHER, OTHER]


def test_an_engine_that_is_silent_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def forget(order: str) -> None:
        raise EngineSilent("no answer")

    folder = trip(tmp_path, "moves", ORDER)
    messages: list[object] = []
    chain_cleanups(TransferCleanup(tmp_path, forget).tidy, messages.append)(())
    assert not folder.exists()
    assert "the engine keeps" in caplog.text
    assert messages == [()]
