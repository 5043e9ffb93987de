"""One sleeper and many who wake it, at once or soon; a ring between two sleeps is never lost."""

import math
import threading
import time


class WakeupEvent:
    """`ring` from any thread, `sleep` in one."""

    def __init__(self) -> None:
        self._due = math.inf
        self._bell = threading.Condition()

    def ring(self, within: float = 0.0) -> None:
        with self._bell:
            self._due = min(self._due, time.monotonic() + within)
            self._bell.notify()

    def sleep(self, at_most: float) -> None:
        """Until somebody's ring is due, or `at_most` seconds are over."""
        end = time.monotonic() + at_most
        with self._bell:
            while (left := min(self._due, end) - time.monotonic()) > 0:
                self._bell.wait(left)
            self._due = math.inf
