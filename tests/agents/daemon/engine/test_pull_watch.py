"""A pull: told in words, ended when it stands still."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from agents.daemon.engine.interface import (
    ROOM_KEPT,
    EngineRefused,
    EngineSilent,
    ImageRequest,
    InsufficientDiskSpace,
    PullStalled,
)
from agents.daemon.engine.pull_watch import Layers, Line, supervise_pull
from agents.protocol.messages import LayerProgress
from agents.protocol.progress_messages import Said, say

MIB = 1024**2


def _line(layer: str, status: str, current: int = 0, total: int = 0) -> Line:
    return {"id": layer, "status": status, "progressDetail": {"current": current, "total": total} if total else {}}


def _pull(**limits: Any) -> ImageRequest:
    return ImageRequest("i", limits.pop("said", lambda text, layers: None), **limits)


def test_progress_is_told_by_layer_and_in_words() -> None:
    layers = Layers()
    steps = [
        _line("a", "Downloading", 10 * MIB, 40 * MIB),
        _line("b", "Downloading", 5 * MIB, 20 * MIB),
        _line("b", "Download complete"),
        _line("b", "Extracting", 3 * MIB, 20 * MIB),
        _line("c", "Pulling fs layer"),
        _line("d", "Already exists"),
    ]
    assert all(layers.apply(line) for line in (*steps[:4], steps[5]))
    assert not layers.apply(steps[4])
    layers.apply({"status": "Pulling from x"})
    assert layers.message == say("loading_image", done=30, total=60, ready=1, layers=4)
    assert layers.message.in_english == "Loading the image: 30 of 60 MiB, 1 of 4 layers ready."
    assert layers.layers == (
        LayerProgress("a", 10 * MIB, 40 * MIB, "downloading"),
        LayerProgress("b", 20 * MIB, 20 * MIB, "unpacking", 3 * MIB),
        LayerProgress("d", 0, 0, "ready"),
        LayerProgress("c"),
    )


def test_a_push_gets_on_too() -> None:
    layers = Layers()
    assert not layers.apply(_line("a", "Preparing"))
    assert layers.apply(_line("a", "Pushing", 10, 40))
    assert layers.apply(_line("a", "Pushing", 20, 40))
    assert layers.apply(_line("a", "Pushed"))
    assert layers.layers == (LayerProgress("a", 40, 40, "ready"),)


def test_trying_again_and_again_is_no_progress() -> None:
    layers = Layers()
    assert layers.apply(_line("a", "Downloading", 10, 40))
    assert not layers.apply({"id": "a", "status": "Retrying in 5 seconds"})
    assert not layers.apply(_line("a", "Downloading", 4, 40))
    assert layers.apply(_line("a", "Downloading", 11, 40))


def test_the_end_is_the_end() -> None:
    messages: list[Said] = []
    supervise_pull(
        lambda: iter([_line("a", "Downloading", 1, MIB)]),
        _pull(said=lambda one, layers: messages.append(one)),
        threading.Event(),
    )
    assert len(messages) == 1


def test_fault_039_an_image_that_fills_the_disk_is_ended() -> None:
    free = iter([ROOM_KEPT, ROOM_KEPT - 1])

    def lines() -> Iterator[Line]:
        while True:
            yield _line("a", "Extracting", 1, MIB)
            time.sleep(0.01)

    with (
        pytest.MonkeyPatch.context() as patch,
        pytest.raises(InsufficientDiskSpace, match="fills"),
    ):
        patch.setattr("agents.daemon.engine.pull_watch.ROOM_SECONDS", 0.05)
        supervise_pull(lines, _pull(room=lambda: next(free)), threading.Event())


def test_a_login_is_in_no_text() -> None:
    assert "hush" not in repr(_pull(auth={"username": "u", "password": "hush"}))


def test_fault_037_the_engines_error_is_raised() -> None:
    with pytest.raises(EngineRefused, match="manifest unknown"):
        supervise_pull(lambda: iter([{"error": "manifest unknown"}]), _pull(), threading.Event())


def test_an_engine_that_breaks_off() -> None:
    def lines() -> Iterator[Line]:
        yield _line("a", "Downloading", 1, MIB)
        raise EngineSilent("gone")

    with pytest.raises(EngineSilent):
        supervise_pull(lines, _pull(), threading.Event())


def test_fault_036_a_pull_that_stands_still_ends() -> None:
    let_go = threading.Event()

    def lines() -> Iterator[Line]:
        yield _line("a", "Downloading", 1, MIB)
        let_go.wait(10)

    begun = time.monotonic()
    with pytest.raises(PullStalled, match="No bytes"):
        supervise_pull(lines, _pull(stall_s=0.1), threading.Event())
    assert time.monotonic() - begun < 5
    let_go.set()


def test_fault_036_a_pull_that_never_ends_ends() -> None:
    def lines() -> Iterator[Line]:
        while True:
            yield _line("a", "Downloading", 1, MIB)
            time.sleep(0.01)

    with pytest.raises(PullStalled, match="minutes"):
        supervise_pull(lines, _pull(total_s=0.2), threading.Event())


def test_a_cancelled_pull_returns_at_once_though_the_registry_is_silent() -> None:
    cancelled, let_go = threading.Event(), threading.Event()

    def lines() -> Iterator[Line]:
        let_go.wait(10)
        yield {}

    threading.Timer(0.05, cancelled.set).start()
    begun = time.monotonic()
    supervise_pull(lines, _pull(), cancelled)
    assert time.monotonic() - begun < 5
    let_go.set()


def test_what_came_in_a_burst_is_told_though_nothing_comes_after_it() -> None:
    let_go, notified = threading.Event(), threading.Event()

    def lines() -> Iterator[Line]:
        yield {"status": "Pulling from team/app"}
        yield _line("a", "Downloading", 1, MIB)
        let_go.wait(10)

    def messages(_said: Said, layers: tuple[LayerProgress, ...]) -> None:
        if layers:
            notified.set()
            let_go.set()

    supervise_pull(lines, ImageRequest("x", messages), threading.Event())
    assert notified.is_set()
