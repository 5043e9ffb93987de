"""Where an engine cannot limit roots: what each has written is measured, and one that holds too much is stopped.

It is no hard limit. Between two measurements a program can write as much as the disk takes, so the free room is looked at
every other second, and when it falls everything is measured at once.
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
LOOK_EVERY_S: Final = 2.0
LOOKS: Final = 30  # after so many of them everything is measured, whatever the room is
STEP: Final = GIB  # of room gone since the last measurement: measure now
RESERVE: Final = 10 * GIB  # what is left for the engine and the agent: below it nobody has time to tidy up
GRACE_S: Final = 600.0  # in which one that was stopped for this can be tidied up after its next start


@dataclass(frozen=True)
class Written:
    """What the root of a running container holds beside its image."""

    instance: str
    generation: int
    size: int  # bytes
    limit: int
    run_seconds: float


class RootWatch:
    """Looks at the roots of one host. `stop` ends an instance with a failure of this code and these words."""

    def __init__(
        self, measure: Callable[[], list[Written]], room: Callable[[], int], stop: Callable[[Written, str], None]
    ) -> None:
        self._measure = measure
        self._room = room
        self._stop = stop
        self._looks = 0
        self._room_then = 0

    def run(self, stopped: threading.Event) -> None:
        while not stopped.wait(LOOK_EVERY_S):
            try:
                self.look()
            except (EngineSilent, EngineRefused) as error:
                logger.warning("the roots were not measured: %s", error)

    def look(self) -> None:
        """Once: measure when it is time, and stop those that hold too much."""
        room = self._room()
        self._looks -= 1
        if self._looks > 0 and self._room_then - room < STEP:
            return
        self._looks, self._room_then = LOOKS, room
        for root in self._measure():
            if root.size > root.limit and (room < RESERVE or root.run_seconds > GRACE_S):
                self._stop(root, _words(root))


def _words(root: Written) -> str:
    return f"It holds {root.size / GIB:.1f} GB beside its image and /data; its system disk has {root.limit // GIB} GB."
