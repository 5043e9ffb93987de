"""Watches an image arrive: progress in words, and an end to a pull that stands still."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from agents.daemon.runtime import EngineRefused, PullStalled

STALL_SECONDS = 120.0
TOTAL_SECONDS = 20 * 60.0
LOOK_SECONDS = 0.5
SAY_SECONDS = 1.0
MIB = 1024**2

Line = dict[str, Any]
Lines = Callable[[], Iterator[Line]]


class Layers:
    """Bytes of each layer as the engine tells them."""

    def __init__(self) -> None:
        self._layers: dict[str, tuple[int, int]] = {}
        self._ready: set[str] = set()

    def note(self, line: Line) -> None:
        layer, state = line.get("id", ""), line.get("status", "")
        detail = line.get("progressDetail") or {}
        if state == "Downloading" and detail.get("total"):
            self._layers[layer] = (detail.get("current", 0), detail["total"])
        elif state in ("Download complete", "Pull complete", "Already exists"):
            self._ready.add(layer)

    @property
    def sentence(self) -> str:
        have = sum(total if layer in self._ready else current for layer, (current, total) in self._layers.items())
        whole = sum(total for _, total in self._layers.values())
        return f"Downloading the image: {have // MIB} of {whole // MIB} MiB, {len(self._ready)} layers ready."


def follow_pull(
    lines: Lines,
    progress: Callable[[str], None],
    cancelled: threading.Event,
    *,
    stall_s: float = STALL_SECONDS,
    total_s: float = TOTAL_SECONDS,
) -> None:
    """Read the engine's lines in a thread of their own, so that a silent registry cannot hold up a cancellation."""
    arrived: queue.Queue[Line | BaseException | None] = queue.Queue()
    threading.Thread(target=_read_lines, args=(lines, arrived), name="pull", daemon=True).start()
    layers, said = Layers(), 0.0
    begun = heard = time.monotonic()
    while not cancelled.is_set():
        try:
            item = arrived.get(timeout=min(LOOK_SECONDS, stall_s))
        except queue.Empty:
            _check_clock(begun, heard, stall_s, total_s)
            continue
        if item is None:
            return
        heard = time.monotonic()
        layers.note(_checked(item))
        _check_clock(begun, heard, stall_s, total_s)
        if heard - said > SAY_SECONDS:
            said = heard
            progress(layers.sentence)


def _read_lines(lines: Lines, arrived: "queue.Queue[Line | BaseException | None]") -> None:
    try:
        for line in lines():
            arrived.put(line)
        arrived.put(None)
    except Exception as error:
        arrived.put(error)


def _checked(item: Line | BaseException) -> Line:
    if isinstance(item, BaseException):
        raise item
    if "error" in item:
        raise EngineRefused(str(item["error"]))
    return item


def _check_clock(begun: float, heard: float, stall_s: float, total_s: float) -> None:
    now = time.monotonic()
    if now - heard > stall_s:
        raise PullStalled(f"No bytes of the image arrived for {stall_s:.0f} s.")
    if now - begun > total_s:
        raise PullStalled(f"The image did not arrive within {total_s / 60:.0f} minutes.")
