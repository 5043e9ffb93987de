"""A folder that comes as an archive of a host stays within its target, whatever is in it."""

import http.client
import io
import tarfile
from pathlib import Path

import pytest

from berth.cli import archives


class _Session:
    """As much of a session as unpacking needs."""

    def __init__(self) -> None:
        self.out = self
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def archive(*entries: tuple[str, str]) -> io.BytesIO:
    """Pack files by name and text; a text "-> x" makes a symbolic link to x."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, text in entries:
            entry = tarfile.TarInfo(name)
            if text.startswith("-> "):
                entry.type, entry.linkname = tarfile.SYMTYPE, text[3:]
            else:
                entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()) if entry.size else None)
    packed.seek(0)
    return packed


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> _Session:
    found = _Session()
    monkeypatch.setattr(archives, "session", lambda: found)
    return found


def unpack(target: Path, packed: io.BytesIO) -> None:
    """As `fetch_folder` does with what the market sends."""
    target.mkdir(exist_ok=True)
    for place, to in archives.unpack_all(packed, target):
        archives.link(place, to)


def test_nothing_leaves_the_target(tmp_path: Path, seen: _Session) -> None:
    target = tmp_path / "here"
    hostile = [
        *(("data/up", "-> .."), ("data/up/out.txt", "1"), ("data/../../out.txt", "2"), ("data/all", "-> /etc")),
        *(("data/in", "-> deep"), ("data/in/through.txt", "3")),
    ]
    for _ in range(2):  # over what is there, too
        unpack(target, archive(("data/deep/a.txt", "good"), *hostile))
    assert (target / "deep" / "a.txt").read_text() == "good"
    assert not (tmp_path / "out.txt").exists() and not (target / "all").exists() and not (target / "up").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here"]
    assert seen.notes


def test_links_to_what_lies_below_are_made_last(tmp_path: Path, seen: _Session) -> None:
    target = tmp_path / "here"
    unpack(target, archive(("data/latest", "-> runs/7"), ("data/runs/7/loss", "0.5")))
    assert (target / "latest" / "loss").read_text() == "0.5"
    assert (target / "latest").readlink() == Path("runs/7")


def test_a_path_longer_than_the_system_takes_leads_nowhere(tmp_path: Path, seen: _Session) -> None:
    """CVE-2025-4517: Python's own filter gives up on such a chain of links, and lets the next entry out."""
    target, outside = tmp_path / "here", tmp_path / "victim"
    outside.mkdir()
    long, entries, inside = "d" * 247, [], ""
    for letter in "abcdefghijklmnop":
        entries += [(f"data/{inside}{long}/x", "1"), (f"data/{inside}{letter}", f"-> {long}")]
        inside += f"{letter}/"
    chain = "/".join("abcdefghijklmnop") + "/" + "l" * 254
    entries += [(f"data/{chain}", f"-> {'../' * 16}"), ("data/escape", f"-> {chain}/../victim"), ("data/escape/owned", "1")]
    unpack(target, archive(*entries))
    assert list(outside.iterdir()) == []


def test_a_stream_that_breaks_off_after_the_archive_is_noticed(tmp_path: Path, seen: _Session) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            piece = super().read(size)
            if not piece:
                raise http.client.IncompleteRead(b"")
            return piece

    with pytest.raises(http.client.IncompleteRead):
        unpack(tmp_path / "here", Broken(archive(("data/a", "1")).getvalue()))


def test_a_target_above_is_a_target(tmp_path: Path, seen: _Session, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    unpack(Path("../out"), archive(("data/a", "1")))
    assert (tmp_path / "out" / "a").read_text() == "1"
