"""Copies of `berth cp` over a bad way: through a real relay and a host's agent, to files of this machine."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from shutil import which
from types import SimpleNamespace
from typing import ClassVar
from urllib.parse import parse_qs, quote_from_bytes, urlencode, urlsplit

import pytest

from agents.daemon.streams import stream_server
from berth.cli import http_copy
from berth.cli.framework import Refused
from berth.cli.progress import Bar
from berth.errors import ConnectionFailed
from tests.agents.relay.conftest import Relay, host, new_host, relay, start_relay  # noqa: F401 fixtures
from tests.agents.relay.streaming import StreamHost, slow_checksums
from tests.clients.broken_connections import Trouble, Way, way_to
from tests.clients.terminal import Terminal
from tests.waiting import wait_until

CONTENT = os.urandom(3_000_000)
MANY = 5  # attempts


class Person:
    """As much of a session as a copy needs: addresses of the market, and somewhere to say things."""

    def __init__(self, way: Way, box: StreamHost) -> None:
        self.client = self.instances = self.out = self
        self.way, self._host = way, box
        self.notes: list[str] = []
        self.lives: list[tuple[float, float]] = []  # of the next addresses, in seconds: ticket and grant
        self.faults: list[Exception] = []
        self.asked = 0

    def note(self, text: str) -> None:
        self.notes.append(text)

    def open_stream(self, _instance: str, *, kind: str, path: str) -> SimpleNamespace:
        self.asked += 1
        if self.faults:
            raise self.faults.pop(0)
        of_ticket, of_grant = self.lives.pop(0) if self.lives else (60.0, 60.0)
        way_in = {"upload": "write", "download": "read"}[kind]
        grant = self._host.grant(way_in, path=quote_from_bytes(os.fsencode(path)), once=False, lifetime_s=of_grant)
        ticket = self._host.sign(f"stream:{self._host.id}:{grant}", lifetime_s=of_ticket)
        return SimpleNamespace(url=f"{self.way.url}/relay/v1/{kind}?{urlencode({'ticket': ticket})}")


@pytest.fixture
def person(
    relay: Relay,  # noqa: F811 fixtures
    host: StreamHost,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Person]:
    monkeypatch.setattr(http_copy, "_PAUSE_S", 0.01)
    with way_to(urlsplit(relay.url).port or 0) as way:
        found = Person(way, host)
        monkeypatch.setattr(http_copy, "session", lambda: found)
        yield found


@pytest.fixture
def files() -> http_copy.Remote:
    return http_copy.Remote("inst_1")


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "model.bin").write_bytes(CONTENT)
    return tmp_path / "here"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "model.bin").write_bytes(CONTENT)
    return tmp_path / "there"


def is_whole(copy: Path) -> bool:
    return copy.read_bytes() == CONTENT


def tickets(way: Way, method: str) -> list[str]:
    lines = [line.split(" ") for line in way.requests]
    return [parse_qs(urlsplit(target).query)["ticket"][0] for verb, target, _ in lines if verb == method]


def send_over_a_break(person: Person, files: http_copy.Remote, here: Path, there: Path) -> None:
    """The way breaks once a part has arrived and been written."""
    person.way.troubles = [Trouble(sent=1_000_000, holds=True)]
    with ThreadPoolExecutor(1) as pool:
        copy = pool.submit(files.send_file, here / "model.bin", f"{there}/new.bin")
        wait_until("a part is there", lambda: sum(path.stat().st_size for path in there.glob(".new.bin*")) > 900_000)
        person.way.cut()
        copy.result()


def test_an_upload_that_breaks_goes_on_with_a_new_address(
    person: Person, files: http_copy.Remote, here: Path, there: Path
) -> None:
    send_over_a_break(person, files, here, there)
    assert is_whole(there / "new.bin")
    assert len(set(tickets(person.way, "PUT"))) == person.asked == 2
    assert person.way.sent < len(CONTENT) + 100_000, "what had arrived was not sent again"


def test_a_download_that_breaks_goes_on_with_a_new_address(
    person: Person, files: http_copy.Remote, here: Path, there: Path
) -> None:
    person.way.troubles = [Trouble(told=1_000_000), Trouble(told=1_000_000)]
    files.fetch_file(f"{there}/model.bin", here / "back.bin")
    assert is_whole(here / "back.bin")
    assert len(set(tickets(person.way, "GET"))) == person.asked == 4, "the last one is for the checksum"
    assert sorted(path.name for path in here.iterdir()) == ["back.bin", "model.bin"]


TROUBLES = {
    "the ticket has expired": lambda person: person.lives.append((-1.0, 60.0)),
    "the grant has expired": lambda person: person.lives.append((60.0, -1.0)),
    "a proxy finds nobody": lambda person: person.way.troubles.append(Trouble(status=502)),
    "a proxy is busy": lambda person: person.way.troubles.append(Trouble(status=503)),
    "the market is not reached": lambda person: person.faults.append(ConnectionFailed("no way")),
}


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES.keys())
def test_what_passes_is_tried_again(
    person: Person, files: http_copy.Remote, here: Path, there: Path, trouble: Callable[[Person], None]
) -> None:
    trouble(person)
    files.fetch_file(f"{there}/model.bin", here / "back.bin")
    assert (is_whole(here / "back.bin"), person.asked) == (True, 3), "the last one is for the checksum"
    trouble(person)
    files.send_file(here / "model.bin", f"{there}/new.bin")
    assert is_whole(there / "new.bin")
    assert person.asked - 3 in (2, 3), "another one if the answer was lost after all had been sent"


def test_an_address_that_expires_while_it_breaks(person: Person, files: http_copy.Remote, here: Path, there: Path) -> None:
    person.lives = [(60.0, 60.0), (-1.0, 60.0), (60.0, -1.0)]
    send_over_a_break(person, files, here, there)
    assert (is_whole(there / "new.bin"), person.asked) == (True, 4)
    assert person.way.sent < len(CONTENT) + 100_000


@pytest.fixture
def sums(host: StreamHost, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811 a fixture
    return slow_checksums(host, tmp_path_factory.mktemp("sums"))


def test_a_checksum_that_takes_long_is_no_break(
    person: Person, files: http_copy.Remote, here: Path, there: Path, *, sums: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_copy, "_SILENCE_S", 2.0)
    monkeypatch.setattr(http_copy, "_CHECKSUM_S", 1.0)
    monkeypatch.setattr(http_copy, "_SLOWEST_SUM", len(CONTENT) / 30)
    (sums / "go").write_text("4")
    files.send_file(here / "model.bin", f"{there}/new.bin")
    assert (is_whole(there / "new.bin"), person.asked) == (True, 1)


def test_a_break_during_the_checksum_sends_nothing_again(
    person: Person, files: http_copy.Remote, here: Path, there: Path, *, sums: Path
) -> None:
    with ThreadPoolExecutor(1) as pool:
        copy = pool.submit(files.send_file, here / "model.bin", f"{there}/new.bin")
        wait_until("the checksum is computed", (sums / "begun").exists)
        person.way.cut()
        wait_until("it goes on", lambda: len(person.way.requests) == 3)
        (sums / "go").write_text("0")
        copy.result()
    assert is_whole(there / "new.bin")
    assert [line.split(" ")[0] for line in person.way.requests] == ["PUT", "HEAD", "PUT"]
    assert person.way.sent < len(CONTENT) + 100_000


def test_a_file_whose_answer_was_lost_is_not_sent_again(
    person: Person, files: http_copy.Remote, here: Path, there: Path, *, sums: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pause(_seconds: float) -> None:
        (sums / "go").write_text("0")
        wait_until("the host ends it alone", (there / "new.bin").exists)

    monkeypatch.setattr(http_copy, "time", SimpleNamespace(sleep=pause))
    with ThreadPoolExecutor(1) as pool:
        copy = pool.submit(files.send_file, here / "model.bin", f"{there}/new.bin")
        wait_until("the checksum is computed", (sums / "begun").exists)
        person.way.cut()
        copy.result()
    assert (is_whole(there / "new.bin"), person.notes) == (True, [])
    assert [line.split(" ")[0] for line in person.way.requests] == ["PUT", "HEAD", "GET"]


def test_a_download_that_differs_is_not_kept(
    person: Person,
    files: http_copy.Remote,
    here: Path,
    there: Path,
    host: StreamHost,  # noqa: F811
) -> None:
    programs = there.parent / "programs"
    programs.mkdir()
    (programs / "cat").write_text('#!/bin/sh\nexec tr "\\000" "\\001" <"$1"\n')
    (programs / "cat").chmod(0o755)
    host.containers.env["PATH"] = f"{programs}:{os.environ['PATH']}"
    with pytest.raises(Refused, match="differs") as refused:
        files.fetch_file(f"{there}/model.bin", here / "back.bin")
    assert (refused.value.code, person.notes) == (1, [])
    assert [path.name for path in here.iterdir()] == ["model.bin"]


def test_a_file_that_changes_meanwhile_is_kept_and_told(
    person: Person, files: http_copy.Remote, here: Path, there: Path, sums: Path
) -> None:
    with ThreadPoolExecutor(1) as pool:
        copy = pool.submit(files.fetch_file, f"{there}/model.bin", here / "back.bin")
        wait_until("the checksum is computed", (sums / "begun").exists)
        with (there / "model.bin").open("ab") as file:
            file.write(b"more")
        (sums / "go").write_text("0")
        copy.result()
    assert is_whole(here / "back.bin")
    assert person.notes == ["back.bin was copied, but not checked: it has changed meanwhile"]


def test_a_file_that_can_not_be_checked_any_more_is_kept(
    person: Person, files: http_copy.Remote, here: Path, there: Path
) -> None:
    """As when its instance ends with the last byte."""
    person.lives = [(60.0, 60.0), *[(-1.0, 60.0)] * MANY]
    files.fetch_file(f"{there}/model.bin", here / "back.bin")
    assert is_whole(here / "back.bin")
    (note,) = person.notes
    assert note.startswith("back.bin was copied, but not checked: ")


def test_an_image_without_checksums_is_told(
    person: Person,
    files: http_copy.Remote,
    here: Path,
    there: Path,
    host: StreamHost,  # noqa: F811
) -> None:
    programs = there.parent / "programs"
    programs.mkdir()
    for name in ("cat", "chmod", "chown", "df", "mkdir", "mv", "rm", "stat", "tail"):
        (programs / name).symlink_to(str(which(name)))
    host.containers.env["PATH"] = str(programs)
    files.send_file(here / "model.bin", f"{there}/new.bin")
    files.fetch_file(f"{there}/new.bin", here / "back.bin")
    assert is_whole(here / "back.bin")
    uploaded, downloaded = person.notes
    assert uploaded == "model.bin was copied, but not checked: the image has no sha256sum"
    assert downloaded.startswith("back.bin was copied, but not checked: ") and "sha256sum" in downloaded


def test_an_older_agent_computes_no_checksums(
    person: Person, files: http_copy.Remote, here: Path, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_server, "_ONE_PATH", {"read": frozenset({"read"})})
    files.fetch_file(f"{there}/model.bin", here / "back.bin")
    assert is_whole(here / "back.bin")
    (note,) = person.notes
    assert note.startswith("back.bin was copied, but not checked: ")


def test_what_stays_is_told_at_once(
    person: Person,
    files: http_copy.Remote,
    here: Path,
    there: Path,
    host: StreamHost,  # noqa: F811
) -> None:
    with pytest.raises(Refused, match="No file or folder has this name") as missing:
        files.send_file(here / "model.bin", f"{there}/none/new.bin")
    host.follow(run="stopped")
    with pytest.raises(Refused, match="not running") as stopped:
        files.fetch_file(f"{there}/model.bin", here / "back.bin")
    assert (missing.value.code, stopped.value.code, person.asked) == (1, 1, 2)
    assert [path.name for path in here.iterdir()] == ["model.bin"], "no part is left"


def test_what_does_not_pass_is_told_in_the_end(person: Person, files: http_copy.Remote, here: Path, there: Path) -> None:
    person.lives = [(-1.0, 60.0)] * MANY * 2
    for copy in (
        partial(files.send_file, here / "model.bin", f"{there}/new.bin"),
        partial(files.fetch_file, f"{there}/model.bin", here / "back.bin"),
    ):
        with pytest.raises(Refused, match=r"expired|401") as refused:
            copy()
        assert refused.value.code == 7
    assert person.asked == MANY * 2
    assert [path.name for path in here.iterdir()] == ["model.bin"], "no part is left"


class SeenBar(Bar):
    """Keeps what it is told: of each copy its name, how much there is, and how far it came."""

    told: ClassVar[list["SeenBar"]] = []

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.totals: list[int] = []
        self.steps: list[int] = []
        self.told.append(self)

    def expect(self, total: int) -> None:
        self.totals.append(total)

    def at(self, done: int) -> None:
        self.steps.append(done)


def test_a_copy_tells_how_far_it_is(person: Person, here: Path, there: Path) -> None:
    SeenBar.told.clear()
    files = http_copy.Remote("inst_1", SeenBar)
    files.send_file(here / "model.bin", f"{there}/new.bin")
    files.fetch_file(f"{there}/new.bin", here / "back.bin")
    for bar, name in zip(SeenBar.told, ("model.bin", "back.bin"), strict=True):
        assert (bar.name, bar.totals, bar.steps[-1]) == (name, [len(CONTENT)], len(CONTENT))
        assert bar.steps == sorted(bar.steps) and len(bar.steps) > 5

    SeenBar.told.clear()
    files.send_folder(here, f"{there}/folder")
    files.fetch_folder(f"{there}/folder", here / "folder")
    sent, fetched = SeenBar.told
    assert sent.totals == [2 * len(CONTENT)] and sent.steps[-1] >= 2 * len(CONTENT)
    assert fetched.totals == [] and fetched.steps[-1] >= 2 * len(CONTENT)


def test_a_bar_goes_on_where_a_break_was(person: Person, here: Path, there: Path) -> None:
    SeenBar.told.clear()
    send_over_a_break(person, http_copy.Remote("inst_1", SeenBar), here, there)
    (bar,) = SeenBar.told
    again = next(number for number, step in enumerate(bar.steps) if number and step < bar.steps[number - 1])
    assert bar.steps[again] > 900_000, "not from the start"


DRAWN = """
from berth.cli.framework import Session
from berth.cli.progress import bars

with bars(Session())("model.bin") as bar:
    bar.expect(2_000_000)
    bar.at(2_000_000)
"""


@pytest.mark.parametrize(("form", "is_drawn"), [("table", True), ("json", False)])
def test_a_bar_is_drawn_on_a_terminal(tmp_path: Path, form: str, is_drawn: bool) -> None:
    screen, end = os.openpty()
    terminal = Terminal(tmp_path, settings={"BERTH_OUTPUT": form, "TERM": "xterm", "COLUMNS": "120"})
    subprocess.run([sys.executable, "-c", DRAWN], env=terminal.env, stderr=end, check=True, timeout=60)
    os.write(end, b"end")
    shown = os.read(screen, 65_536).decode()
    os.close(end)
    os.close(screen)
    assert ("model.bin" in shown, "2.0/2.0 MB" in shown) == (is_drawn, is_drawn), shown
