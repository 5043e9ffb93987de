"""The journal: what it was told it knows after any crash, on a full disk too."""

import errno
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.daemon.lib.journal import CHUNK, DAMAGED, TOMBSTONE_SECONDS, Entry, Journal, JournalLost

ID = "a" * 32


def _unstamped(journal: Journal) -> dict[str, tuple[int, str]]:
    return {key: (entry.generation, entry.failure_detail) for key, entry in journal.entries().items()}


def test_what_was_recorded_is_there_again(tmp_path: Path) -> None:
    first = Journal(tmp_path / "journal")
    first.record({ID: Entry(fence=1, generation=2), "b": Entry(fence=3)})
    first.amend(ID, accepted=2)
    again = Journal(tmp_path / "journal")
    assert again.entry(ID).accepted == 2
    assert (again.entry(ID).fence, again.entry("b").fence, again.entry("c")) == (1, 3, Entry())


@settings(max_examples=40, deadline=None)
@given(history=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=12), cut=st.integers(0, 4000))
def test_a_torn_tail_costs_the_last_record_at_most(history: list[tuple[str, int]], cut: int) -> None:
    """Whatever byte the power failed at, what is read is a state that once was."""
    with_folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"journal-{os.getpid()}-{time.monotonic_ns()}"
    with_folder.mkdir()
    try:
        path = with_folder / "journal"
        journal = Journal(path, durable=False)
        states = [_unstamped(journal)]
        for key, generation in history:
            journal.amend(key, generation=generation)
            states.append(_unstamped(journal))
        used = path.read_bytes().split(b"\0", 1)[0]
        path.write_bytes(used[:cut] + b"\0" * 100)
        assert _unstamped(Journal(path, durable=False)) in states
    finally:
        for file in with_folder.iterdir():
            file.unlink()
        with_folder.rmdir()


def test_space_is_taken_beforehand_and_again_when_it_runs_out(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path, durable=False)
    assert path.stat().st_size == CHUNK
    for number in range(2000):
        journal.amend(ID, generation=number, failure_detail="x" * 200)
    assert path.stat().st_size == CHUNK, "old records give way"
    assert Journal(path).entry(ID).generation == 1999


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_fault_034_a_full_disk_does_not_stop_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the agent that runs, through any number of compactions, nor the next one."""
    path = tmp_path / "journal"
    journal = Journal(path, durable=False)
    monkeypatch.setattr(os, "posix_fallocate", full)
    for number in range(3000):
        journal.amend(ID, fence=number, failure_detail="x" * 200)
    journal.close()
    assert Journal(path).entry(ID).fence == 2999
    assert b'"fence":2999' in path.read_bytes()


def test_a_journal_without_a_spare_file_goes_on_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upgrade on a full disk."""
    path = tmp_path / "journal"
    path.write_bytes(b'{"id":"a","fence":3}\n{"id":"a","fen' + bytes(CHUNK))
    monkeypatch.setattr(os, "posix_fallocate", full)
    Journal(path).amend("b", fence=4)
    again = Journal(path)
    assert (again.entry("a").fence, again.entry("b").fence) == (3, 4)


def test_what_could_not_be_written_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    (tmp_path / "journal.spare").unlink()
    monkeypatch.setattr(os, "posix_fallocate", full)
    written = 0
    with pytest.raises(OSError, match="No space left"):
        for written in range(10_000):
            journal.amend(ID, fence=written)
    assert journal.entry(ID).fence == written - 1 == Journal(path).entry(ID).fence


@pytest.mark.parametrize("dies", ["link", "replace", "replace again"])
def test_a_crash_amid_a_compaction_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: str) -> None:
    path = tmp_path / "journal"
    journal = Journal(path)
    journal.amend(ID, fence=5)
    real, left = Path.replace, [1 if dies == "replace" else 2]

    def replace(self: Path, target: Path) -> Path:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return real(self, target)

    with monkeypatch.context() as patch:
        if dies == "link":
            patch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        else:
            patch.setattr(Path, "replace", replace)
        with pytest.raises(KeyboardInterrupt):
            Journal(path)
    assert Journal(path).entry(ID).fence == 5
    assert sorted(item.name for item in tmp_path.iterdir()) == ["journal", "journal.spare"]


@settings(max_examples=150, deadline=None)
@given(at=st.integers(0, 2000), value=st.integers(0, 255), seed=st.integers(0, 3))
def test_a_flipped_byte_is_seen_and_costs_its_own_record_alone(at: int, value: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        journal = Journal(path, durable=False)
        history: dict[str, list[Entry]] = {key: [Entry()] for key in "abc"}
        for number in range(12):
            key = "abc"[(number + seed) % 3]
            journal.amend(key, fence=number, failure_code="exited")
            history[key].append(journal.entry(key))
        journal.close()
        content = bytearray(path.read_bytes())
        at %= content.index(b"\0")
        changed = content[at] != value
        content[at] = value
        path.write_bytes(content)
        again = Journal(path, durable=False)
        behind = 0
        for key, own in history.items():
            assert again.entry(key) in own, "nothing is read that was never written"
            behind += len(own) - 1 - own.index(again.entry(key))
        assert behind <= 2, "a lost line break costs two records"
        assert changed or behind == 0
        assert Path(folder, DAMAGED).exists() or behind == 0
        assert not Path(folder, DAMAGED).exists() or changed


def test_a_record_whose_digit_was_changed_is_none(tmp_path: Path) -> None:
    """It is sound JSON with known fields: only its checksum tells."""
    path = tmp_path / "journal"
    journal = Journal(path)
    journal.amend("a", fence=7)
    journal.close()
    content = path.read_bytes()
    assert content.count(b'"fence":7') == 1
    path.write_bytes(content.replace(b'"fence":7', b'"fence":8'))
    assert Journal(path).entry("a") == Entry()
    assert (tmp_path / DAMAGED).exists()


@pytest.mark.parametrize(
    "line",
    [b"[1]", b"null", b'{"fence":3}', b'{"id":3}', b'{"id":"a","fence":"3"}', b'{"id":"a","run":"never"}', b"\xff", b"{"],
)
def test_what_no_agent_wrote_ends_in_no_crash(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b'{"id":"before","fence":1}\n' + line + b'\n{"id":"after","fence":2}\n' + bytes(100))
    journal = Journal(path)
    assert {key: entry.fence for key, entry in journal.entries().items()} == {"before": 1, "after": 2}
    assert line in (tmp_path / DAMAGED).read_bytes()


def test_it_is_on_the_disk_before_the_call_returns(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from agents.daemon.lib.journal import Journal;"
        "Journal(Path(sys.argv[1])).amend('a', fence=9); os._exit(137)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "journal")], check=False)
    assert done.returncode == 137
    assert Journal(tmp_path / "journal").entry("a").fence == 9


def test_each_record_is_synced_once_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a power cut would leave: a process that ends leaves its writes to the kernel."""
    path, sync = tmp_path / "journal", os.fdatasync
    synced: list[int] = []

    def record(file: int) -> None:
        sync(file)
        synced.append(path.read_bytes().count(b'"fence":'))

    monkeypatch.setattr(os, "fdatasync", record)
    journal = Journal(path)
    for fence in (1, 2, 3):
        journal.amend("a", fence=fence)
    assert synced == [1, 2, 3]


def test_the_gone_are_remembered_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "journal")
    journal.record({"old": Entry(run="gone"), "here": Entry()})
    monkeypatch.setattr(time, "time", lambda: _LATER)
    assert set(Journal(tmp_path / "journal").entries()) == {"here"}


_LATER = time.time() + TOMBSTONE_SECONDS + 10_000


def test_a_newer_agents_fields_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "journal").write_text('{"id":"a","fence":3,"mood":"good"}\n')
    assert Journal(tmp_path / "journal").entry("a").fence == 3
    assert (tmp_path / "journal").stat().st_mode & 0o777 == 0o600


def test_a_compaction_that_may_not_last_ends_the_agent_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new journal stands under its name, but the folder could not be synced: who went on might lose what follows."""
    journal = Journal(tmp_path / "journal")
    journal.amend(ID, fence=1)

    def fail(folder: Path) -> None:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr("agents.daemon.lib.journal.sync_folder", fail)
    with pytest.raises(JournalLost, match="cannot be written"):
        for number in range(3000):
            journal.amend(ID, generation=number, failure_detail="x" * 200)
    with pytest.raises(JournalLost):
        journal.check()
    monkeypatch.undo()
    again = Journal(tmp_path / "journal")
    assert again.entry(ID).fence == 1 and again.entry(ID).generation > 0
    again.check()
