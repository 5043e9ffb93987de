"""Synchronization of threads: a delayed event, the hand-over of a newest value, a background call."""

import math
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class WakeupEvent:
    """Event with one waiting thread, set at once or with a delay; a ring between two sleeps is never lost.

    `ring` may be called from any thread, `sleep` from one.
    """

    def __init__(self) -> None:
        self._due = math.inf
        self._bell = threading.Condition()

    def ring(self, within: float = 0.0) -> None:
        with self._bell:
            self._due = min(self._due, time.monotonic() + within)
            self._bell.notify()

    def sleep(self, at_most: float) -> None:
        """Wait until a ring is due, for at most `at_most` seconds."""
        end = time.monotonic() + at_most
        with self._bell:
            while (left := min(self._due, end) - time.monotonic()) > 0:
                self._bell.wait(left)
            self._due = math.inf


class LatestValue(Generic[Value]):
    """Hand-over of the newest value from one thread to another; each value is taken at most once."""

    def __init__(self) -> None:
        self._value: Value | None = None
        self._filled = threading.Condition()

    def put(self, value: Value | None) -> None:
        with self._filled:
            self._value = value
            self._filled.notify()

    def get(self, stopped: threading.Event) -> Value | None:
        """Wait for a value and take it; None once `stopped` is set."""
        with self._filled:
            while self._value is None and not stopped.is_set():
                self._filled.wait()
            value, self._value = self._value, None
            return None if stopped.is_set() else value


class BackgroundCall:
    """A call in a thread of its own; `wait` returns when it is done, and raises what it raised.

    With `inline` it is made at once, by the caller's own thread.
    """

    def __init__(self, call: Callable[[], None], *, inline: bool = False) -> None:
        self._call = call
        self._error: Exception | None = None
        self._thread: threading.Thread | None = None
        if inline:
            self._run()
        else:
            self._thread = threading.Thread(target=self._run, name="beside", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        self.settle()
        if self._error is not None:
            raise self._error

    def settle(self) -> None:
        """Wait for the end, whether it succeeds or fails."""
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._call()
        except Exception as error:
            self._error = error
