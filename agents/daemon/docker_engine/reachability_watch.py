"""Periodic check of whether the host's running containers can be reached from outside."""

import logging
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from agents.daemon.docker_engine.reachability import NOT_OURS_TO_MEND
from agents.daemon.engine.interface import EngineRefused, EngineSilent

logger = logging.getLogger(__name__)

EVERY: Final = 20.0
WHILE_UNREACHABLE: Final = 5.0  # until it is repaired, by the agent or by somebody on the host
AGAIN: Final = 1.0  # until a finding is confirmed: a container that is just being attached looks the same
FIRST_REPAIR_DELAY: Final = 30.0  # seconds after a failed repair; the delay doubles with each further one
LONGEST_REPAIR_DELAY: Final = 600.0

Find = Callable[[], Mapping[str, str]]  # returns the containers that cannot be reached, with the reasons


class ReachabilityWatch:
    """Keeps findings that were made twice in a row, until they are no longer made."""

    def __init__(self, find: Find, clock: Callable[[], float] = time.monotonic) -> None:
        self._find = find
        self._clock = clock
        self._lock = threading.Lock()
        self._suspected: frozenset[str] = frozenset()
        self._cut: dict[str, str] = {}
        self._attempts: dict[str, tuple[int, float]] = {}  # failed repairs, and when the next may follow

    def run(self, changed: Callable[[], None], stopped: threading.Event) -> None:
        pause = 0.0
        while not stopped.wait(pause):
            try:
                news, pause = self.look()
            except (EngineSilent, EngineRefused, OSError, subprocess.SubprocessError) as error:
                logger.warning("whether instances can be reached is not known: %s", error)
                news, pause = False, EVERY
            if news:
                changed()

    def look(self) -> tuple[bool, float]:
        """Check once; return whether the result has changed, and the seconds until the next check."""
        with self._lock:
            found, before = self._find(), dict(self._cut)
            known = self._suspected | before.keys()
            self._cut = {container: why for container, why in found.items() if container in known}
            self._suspected = frozenset(found)
            self._attempts = {key: value for key, value in self._attempts.items() if key in self._cut}
            for container, why in self._cut.items():
                if container not in before:
                    logger.warning("%s cannot be reached from outside: %s", container[:12], why)
            unconfirmed = found.keys() - self._cut.keys()
            return before != self._cut, AGAIN if unconfirmed else WHILE_UNREACHABLE if found else EVERY

    def unreachable_reason(self, container: str) -> str:
        """Return why the container cannot be reached; "" if it can."""
        return self._cut.get(container, "")

    def is_ours_to_mend(self, container: str) -> bool:
        """Return whether a new network may repair what cuts the container off."""
        return self._cut.get(container, "") not in {"", *NOT_OURS_TO_MEND}

    def is_repair_due(self, container: str) -> bool:
        """Return whether to repair the network now; each attempt interrupts it for a moment."""
        return self.is_ours_to_mend(container) and self._attempts.get(container, (0, 0.0))[1] <= self._clock()

    def record_attempt(self, container: str) -> None:
        with self._lock:
            tries = self._attempts.get(container, (0, 0.0))[0]
            delay = min(LONGEST_REPAIR_DELAY, FIRST_REPAIR_DELAY * 2**tries)
            self._attempts[container] = tries + 1, self._clock() + delay
