"""Keeps this process's copy of the market young while searches come in, so that none of them has to wait for it."""

import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.db import Error, connection

logger = logging.getLogger(__name__)

# Of the age that a copy may have: each step holds up the searches that it meets for about as long, however much it brings,
# so the fewer the better. What is left must do for the step itself; where it does not, the next search asks for itself.
STEP: Final = 0.8
IDLE_S: Final = 5.0
# How long a search waits at most until the thread yields the interpreter to it. By default 5 ms, as long as ten pages take.
SWITCH_S: Final = 0.000_5


class Refresher:
    """A thread that begins with a search and ends when there was none for some seconds; its connection ends with it."""

    def __init__(self, refresh: Callable[[], None]) -> None:
        self._refresh = refresh
        self._asked_at = 0.0
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def asked(self) -> None:
        """Somebody searches. To be called by one thread at a time."""
        self._asked_at = time.monotonic()
        if settings.MARKET_MAX_AGE_MS and (self._thread is None or not self._thread.is_alive()):
            self._over.clear()
            sys.setswitchinterval(SWITCH_S)
            self._thread = threading.Thread(target=self._run, name="market-refresher", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Returns when it has ended."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            while time.monotonic() - self._asked_at < IDLE_S:
                if self._over.wait(settings.MARKET_MAX_AGE_MS * STEP / 1_000):
                    return
                self._refresh()
        except Error as error:
            # The next search that finds the copy too old asks for itself, and meets what is wrong, if it still is.
            logger.warning("The copy of the market is not kept young for now: %s", error)
        finally:
            connection.close()
