"""Watch of root file systems that the engine cannot limit: one that holds too much is stopped.

It is no hard limit: between two measurements a program can fill the disk. So the free room is checked every other
second, and when it falls, all roots are measured at once.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.daemon.lib.sizes import GIB

logger = logging.getLogger(__name__)

CODE: Final = "system_disk_full"
CHECK_EVERY_S: Final = 2.0
CHECKS_PER_MEASUREMENT: Final = 30  # checks after which all roots are measured, whatever the room is
STEP: Final = GIB  # loss of room since the last measurement that causes the next one at once
RESERVE: Final = 10 * GIB  # room for the engine and the agent; below it the grace time does not count
GRACE_S: Final = 600.0  # time after a start in which an instance that was stopped for this can be cleaned up


@dataclass(frozen=True)
class RootUsage:
    """Size of the root of a running container, apart from its image."""

    instance: str
    generation: int
    size: int  # bytes
    limit: int
    run_seconds: float


class RootWatch:
    """Checks the roots of one host; `stop` ends an instance with this failure code and the given text."""

    def __init__(
        self, measure: Callable[[], list[RootUsage]], free_space: Callable[[], int], stop: Callable[[RootUsage, str], None]
    ) -> None:
        self._measure = measure
        self._free_space = free_space
        self._stop = stop
        self._looks = 0
        self._free_space_then = 0

    def run(self, stopped: threading.Event) -> None:
        while not stopped.wait(CHECK_EVERY_S):
            try:
                self.look()
            except (EngineSilent, EngineRefused) as error:
                logger.warning("the roots were not measured: %s", error)

    def look(self) -> None:
        """Check once: measure when it is due, and stop instances that hold too much."""
        free_space = self._free_space()
        self._looks -= 1
        if self._looks > 0 and self._free_space_then - free_space < STEP:
            return
        self._looks, self._free_space_then = CHECKS_PER_MEASUREMENT, free_space
        for root in self._measure():
            if root.size > root.limit and (free_space < RESERVE or root.run_seconds > GRACE_S):
                self._stop(root, _failure_detail(root))


def _failure_detail(root: RootUsage) -> str:
    return f"It holds {root.size / GIB:.1f} GB beside its image and /data; its system disk has {root.limit // GIB} GB."
