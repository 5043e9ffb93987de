"""The journal: what it was told it knows after any crash, on a full disk too."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.daemon.journal import CHUNK, TOMBSTONE_SECONDS, Entry, Journal

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


def test_fault_034_a_full_disk_does_not_stop_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "journal")

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    journal.amend(ID, fence=7)
    assert Journal.entry(journal, ID).fence == 7
    assert b'"fence":7' in (tmp_path / "journal").read_bytes()


def test_it_is_on_the_disk_before_the_call_returns(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from agents.daemon.journal import Journal;"
        "Journal(Path(sys.argv[1])).amend('a', fence=9); os._exit(137)"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "journal")], check=False)
    assert done.returncode == 137
    assert Journal(tmp_path / "journal").entry("a").fence == 9


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
