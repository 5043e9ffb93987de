"""Thread that keeps this process's copy of the market recent, so that no search has to wait.

It runs only while there are searches.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.db import Error, connection

logger = logging.getLogger(__name__)

# As a share of the age that a copy may have. Each step delays the searches that it meets by about the same time,
# however much it brings, so fewer are better. The remainder must suffice for the step itself; where it does not, the
# next search updates the copy itself.
STEP: Final = 0.8
IDLE_S: Final = 5.0
# How long a search runs at most before it yields the interpreter to the thread. The default is 5 ms, as long as ten
# pages take.
SWITCH_S: Final = 0.000_5


class Refresher:
    """Thread that starts with a search and ends after some seconds without one, with its connection."""

    def __init__(self, refresh: Callable[[], None]) -> None:
        self._refresh = refresh
        self._searched_at = 0.0
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def record_search(self) -> None:
        """Record a search and start the thread if needed; called by one thread at a time."""
        self._searched_at = time.monotonic()
        if settings.MARKET_MAX_AGE_MS and (self._thread is None or not self._thread.is_alive()):
            self._over.clear()
            sys.setswitchinterval(SWITCH_S)
            self._thread = threading.Thread(target=self._run, name="market-refresher", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread and return when it has ended."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            while time.monotonic() - self._searched_at < IDLE_S:
                if self._over.wait(settings.MARKET_MAX_AGE_MS * STEP / 1_000):
                    return
                self._refresh()
        except Error as error:
            # The next search that finds the copy too old updates it itself, and meets the error if it
            # persists.
            logger.warning("The copy of the market is not kept young for now: %s", error)
        finally:
            connection.close()
