"""Event with one waiting thread, set at once or with a delay; a call between two waits is never lost."""

import math
import threading
import time


class WakeupEvent:
    """`ring` may be called from any thread, `sleep` from one."""

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
