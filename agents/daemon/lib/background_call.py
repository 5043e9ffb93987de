"""One engine call in the background.

Creating a network takes as long as all other steps before a start together.
"""

import threading
from collections.abc import Callable


class BackgroundCall:
    """A call in a thread of its own; `wait` returns when it is done, and raises what it raised."""

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
