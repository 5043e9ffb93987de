"""Supervision of a pull: progress by layer and in words, and an end if it stalls or fills the disk."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from agents.daemon.engine.interface import ROOM_KEPT, EngineRefused, ImageRequest, InsufficientDiskSpace, PullStalled
from agents.protocol.messages import LayerProgress
from agents.protocol.progress_messages import LOADING_IMAGE, Said, say

POLL_SECONDS = 0.5
REPORT_SECONDS = 1.0
ROOM_SECONDS = 2.0
MIB = 1024**2
LAYERS_REPORTED = 64
UNPACKS_TO = 3  # times its compressed size, since the download and the unpacked layers exist side by side

Line = dict[str, Any]
Lines = Callable[[], Iterator[Line]]


class Layers:
    """Progress of each layer as the engine reports it."""

    def __init__(self) -> None:
        self._layers: dict[str, LayerProgress] = {}

    def apply(self, line: Line) -> bool:
        """Apply one line and return whether it is progress: an engine that retries reports much without any."""
        layer, status = str(line.get("id", ""))[:12], line.get("status", "")
        step = _STEPS.get(status)
        if step is None or not layer:
            return False
        detail = line.get("progressDetail") or {}
        before = self._layers.get(layer, LayerProgress(layer))
        now = _after(before, step, int(detail.get("current") or 0), int(detail.get("total") or 0))
        self._layers[layer] = now
        return _rank(now) > _rank(before)

    @property
    def layers(self) -> tuple[LayerProgress, ...]:
        return tuple(self._layers.values())[:LAYERS_REPORTED]

    @property
    def message(self) -> Said:
        known = list(self._layers.values())
        have, whole = sum(item.done_bytes for item in known), sum(item.total_bytes for item in known)
        ready = sum(item.step == "ready" for item in known)
        return say(LOADING_IMAGE, done=have // MIB, total=whole // MIB, ready=ready, layers=len(known))


_STEPS = {
    "Pulling fs layer": "waiting",
    "Waiting": "waiting",
    "Downloading": "downloading",
    "Verifying Checksum": "downloaded",
    "Download complete": "downloaded",
    "Extracting": "unpacking",
    "Pull complete": "ready",
    "Already exists": "ready",
    # of a push
    "Preparing": "waiting",
    "Pushing": "downloading",
    "Pushed": "ready",
    "Layer already exists": "ready",
}
_ORDER = {step: rank for rank, step in enumerate(("waiting", "downloading", "downloaded", "unpacking", "ready"))}


def _after(before: LayerProgress, step: str, current: int, total: int) -> LayerProgress:
    whole = max(before.total_bytes, total)
    if step == "downloading":
        return LayerProgress(before.id, current, whole, step)
    if step == "unpacking":
        return LayerProgress(before.id, whole, whole, step, current)
    return LayerProgress(before.id, before.done_bytes if step == "waiting" else whole, whole, step)


def _rank(layer: LayerProgress) -> tuple[int, int]:
    """Return a value that grows with progress; a layer downloaded again must first pass its old mark."""
    return _ORDER[layer.step], layer.unpacked_bytes if layer.step == "unpacking" else layer.done_bytes


def supervise_pull(lines: Lines, pull: ImageRequest, cancelled: threading.Event) -> None:
    """Read the engine's lines in a thread, so that a silent registry cannot delay a cancellation.

    Raises:
        PullStalled: A limit of time was exceeded.
        InsufficientDiskSpace: The host's disk is nearly full.
        EngineRefused: The engine reported an error.
    """
    arrived: queue.Queue[Line | BaseException | None] = queue.Queue()
    threading.Thread(target=_read_lines, args=(lines, arrived), name="pull", daemon=True).start()
    layers, watch, reported_at = Layers(), _Watch(pull), 0.0
    while not cancelled.is_set():
        try:
            item = arrived.get(timeout=min(POLL_SECONDS, pull.stall_s))
        except queue.Empty:
            pass  # progress since the last report is still to be reported
        else:
            if item is None:
                return
            if layers.apply(_checked(item)):
                watch.heard = time.monotonic()
        watch.check()
        if time.monotonic() - reported_at > REPORT_SECONDS:
            reported_at = time.monotonic()
            pull.said(layers.message, layers.layers)


class _Watch:
    """Limits of one pull."""

    def __init__(self, pull: ImageRequest) -> None:
        self._pull = pull
        self._started = self.heard = time.monotonic()
        self._space_checked_at = 0.0

    def check(self) -> None:
        now, pull = time.monotonic(), self._pull
        if now - self.heard > pull.stall_s:
            raise PullStalled(f"No bytes of the image arrived for {pull.stall_s:.0f} s.")
        if now - self._started > pull.total_s:
            raise PullStalled(f"The image did not arrive within {pull.total_s / 60:.0f} minutes.")
        if now - self._space_checked_at > ROOM_SECONDS:
            self._space_checked_at = now
            if pull.room() < ROOM_KEPT:
                raise InsufficientDiskSpace("The image fills the host's disk: loading it was ended.")


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
