"""Hand-over of the newest place to wait at, from the main loop to the waiting thread."""

import threading

from agents.daemon.control_plane.http_client import WaitTarget


class LatestValue:
    """Holds the newest place to wait at; each is taken at most once."""

    def __init__(self) -> None:
        self._target: WaitTarget | None = None
        self._filled = threading.Condition()

    def put(self, target: WaitTarget | None) -> None:
        with self._filled:
            self._target = target
            self._filled.notify()

    def take(self, stopped: threading.Event) -> WaitTarget | None:
        """Wait for a value and take it; None once the agent is to stop."""
        with self._filled:
            while self._target is None and not stopped.is_set():
                self._filled.wait()
            target, self._target = self._target, None
            return None if stopped.is_set() else target
