"""A process beside this one that reads for it: what computes here, even in another thread, holds up every search."""

import logging
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from django.db import connection

logger = logging.getLogger(__name__)

COMMAND: Final = "market_reader"
ANSWER_S: Final = 5.0
AGAIN_S: Final = 30.0  # after one that ended
IDLE_S: Final = 5.0  # after which it gives its database connection back
_ROOT: Final = Path(__file__).parents[3]


class Reader:
    """For one thread. The other process ends with this one: it hears its line being cut."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._link: Connection[Any, Any] | None = None
        self._is_ready = False
        self._begun_at = -AGAIN_S

    def ask(self, question: object) -> Any:
        """Its answer; None where it is not there, or not yet, or has none: then read yourself."""
        if self._link is None:
            self._begin()
            return None
        try:
            if not self._is_ready:
                self._is_ready = self._link.poll(0) and self._link.recv() is None
                return None
            self._link.send(question)
            if self._link.poll(ANSWER_S):
                return self._link.recv()
            logger.warning("The process that reads the market does not answer; it is ended.")
        except (EOFError, OSError):
            logger.warning("The process that reads the market has ended.")
        self.stop()
        return None

    def stop(self) -> None:
        if self._link is not None:
            self._link.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process, self._link, self._is_ready = None, None, False

    def _begin(self) -> None:
        if time.monotonic() - self._begun_at < AGAIN_S:
            return
        self._begun_at = time.monotonic()
        near, far = socket.socketpair()
        with far:
            # A session of its own: Ctrl-C is for the parent, which then cuts the line.
            self._process = subprocess.Popen(  # noqa: S603  (own command)
                [sys.executable, "-m", "django", COMMAND, str(far.fileno())],
                pass_fds=[far.fileno()],
                stdin=subprocess.DEVNULL,
                cwd=_ROOT,
                start_new_session=True,
            )
        self._link = Connection(near.detach())


def serve(link_fd: int, answer: Callable[[Any], object]) -> None:
    """Answer questions until the other end is gone."""
    with Connection(link_fd) as link, suppress(EOFError, OSError):
        link.send(None)  # ready
        while True:
            while not link.poll(IDLE_S):
                connection.close()
            link.send(answer(link.recv()))
