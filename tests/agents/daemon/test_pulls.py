"""A pull: told in words, ended when it stands still."""

import threading
import time
from collections.abc import Iterator

import pytest

from agents.daemon.pulls import Layers, Line, follow_pull
from agents.daemon.runtime import EngineRefused, EngineSilent, PullStalled

MIB = 1024**2


def _line(layer: str, status: str, current: int = 0, total: int = 0) -> Line:
    return {"id": layer, "status": status, "progressDetail": {"current": current, "total": total} if total else {}}


def test_progress_is_a_sentence() -> None:
    layers = Layers()
    layers.note(_line("a", "Downloading", 10 * MIB, 40 * MIB))
    layers.note(_line("b", "Downloading", 5 * MIB, 20 * MIB))
    layers.note(_line("b", "Download complete"))
    layers.note({"status": "Pulling from x"})
    assert layers.sentence == "Downloading the image: 30 of 60 MiB, 1 layers ready."


def test_the_end_is_the_end() -> None:
    said: list[str] = []
    follow_pull(lambda: iter([_line("a", "Downloading", 1, MIB)]), said.append, threading.Event())
    assert len(said) == 1


def test_fault_037_the_engines_error_is_raised() -> None:
    with pytest.raises(EngineRefused, match="manifest unknown"):
        follow_pull(lambda: iter([{"error": "manifest unknown"}]), lambda _: None, threading.Event())


def test_an_engine_that_breaks_off() -> None:
    def lines() -> Iterator[Line]:
        yield _line("a", "Downloading", 1, MIB)
        raise EngineSilent("gone")

    with pytest.raises(EngineSilent):
        follow_pull(lines, lambda _: None, threading.Event())


def test_fault_036_a_pull_that_stands_still_ends() -> None:
    let_go = threading.Event()

    def lines() -> Iterator[Line]:
        yield _line("a", "Downloading", 1, MIB)
        let_go.wait(10)

    begun = time.monotonic()
    with pytest.raises(PullStalled, match="No bytes"):
        follow_pull(lines, lambda _: None, threading.Event(), stall_s=0.1)
    assert time.monotonic() - begun < 5
    let_go.set()


def test_fault_036_a_pull_that_never_ends_ends() -> None:
    def lines() -> Iterator[Line]:
        while True:
            yield _line("a", "Downloading", 1, MIB)
            time.sleep(0.01)

    with pytest.raises(PullStalled, match="minutes"):
        follow_pull(lines, lambda _: None, threading.Event(), total_s=0.2)


def test_a_cancelled_pull_returns_at_once_though_the_registry_is_silent() -> None:
    cancelled, let_go = threading.Event(), threading.Event()

    def lines() -> Iterator[Line]:
        let_go.wait(10)
        yield {}

    threading.Timer(0.05, cancelled.set).start()
    begun = time.monotonic()
    follow_pull(lines, lambda _: None, cancelled)
    assert time.monotonic() - begun < 5
    let_go.set()
