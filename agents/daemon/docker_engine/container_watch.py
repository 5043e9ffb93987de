"""Frequent check of whether running containers are paused on the host, or have less than what was ordered.

It reads the kernel's files, so it works while the engine does not answer and costs almost nothing.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from agents.daemon.docker_engine import cgroups
from agents.daemon.engine.interface import EngineRefused, EngineSilent

logger = logging.getLogger(__name__)

EVERY: Final = 1.0
RESTORE_EVERY: Final = 10.0  # the least seconds between two attempts to restore a container's limits
AFTER_SAVE: Final = 2.0  # a view of the engine taken during a save may be this old
CPU_TOLERANCE: Final = 0.98  # the kernel rounds quotas


@dataclass(frozen=True)
class WatchedContainer:
    """A container that runs or is paused, and the limits that it was created with; 0 is not checked."""

    id: str
    pid: int
    ordered: cgroups.Limits


@dataclass
class _Finding:
    paused: bool = False
    reduced: str = ""

    @property
    def is_any(self) -> bool:
        return self.paused or bool(self.reduced)


class ContainerWatch:
    """Keeps each finding until it is over and was reported, so that no short one is lost."""

    def __init__(self, restore: Callable[[WatchedContainer], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._restore = restore
        self._clock = clock
        self._lock = threading.Lock()
        self._watched: dict[str, WatchedContainer] = {}
        self._now: dict[str, _Finding] = {}
        self._unreported: dict[str, _Finding] = {}
        self._saving: dict[str, float] = {}  # containers that this agent pauses itself, and until when that may show
        self._next_restore: dict[str, float] = {}

    def run(self, changed: Callable[[], None], stopped: threading.Event) -> None:
        while not stopped.wait(EVERY):
            if self.look():
                changed()

    def follow(self, containers: Iterable[WatchedContainer]) -> None:
        """Watch these containers and no others."""
        with self._lock:
            self._watched = {item.id: item for item in containers}
            self._next_restore = {key: due for key, due in self._next_restore.items() if key in self._watched}
            self._unreported = {key: found for key, found in self._unreported.items() if key in self._watched}

    def look(self) -> bool:
        """Check all containers once, restore reduced limits, and return whether anything has changed."""
        with self._lock:
            watched = list(self._watched.values())
        found = {item.id: self._find(item) for item in watched}
        found = {key: finding for key, finding in found.items() if finding.is_any}
        with self._lock:
            before, self._now = self._now, found
            for key, finding in found.items():
                kept = self._unreported.setdefault(key, _Finding())
                kept.paused, kept.reduced = kept.paused or finding.paused, kept.reduced or finding.reduced
        for item in watched:
            if item.id in found and found[item.id].reduced:
                self._restore_limits(item, found[item.id].reduced)
        return before != found

    def found(self, container: str) -> tuple[bool, str]:
        """Return whether the container is paused, and which limits are reduced, now or since the last report."""
        with self._lock:
            now, kept = self._now.get(container, _Finding()), self._unreported.get(container, _Finding())
            return now.paused or kept.paused, now.reduced or kept.reduced

    def reported(self, containers: Iterable[str]) -> None:
        """Forget what is over: the control plane has accepted a report with it."""
        with self._lock:
            for container in containers:
                self._unreported.pop(container, None)

    @contextmanager
    def saving(self, container: str) -> Iterator[None]:
        """While the engine copies the container's root on the agent's own order, a pause is not the owner's."""
        self._saving[container] = float("inf")
        try:
            yield
        finally:
            self._saving[container] = self._clock() + AFTER_SAVE

    def is_saving(self, container: str) -> bool:
        return self._saving.get(container, 0.0) > self._clock()

    def _find(self, item: WatchedContainer) -> _Finding:
        own = self.is_saving(item.id)
        return _Finding(
            not own and cgroups.is_frozen(item.pid), cgroups.reduced_limits(item.pid, item.ordered, CPU_TOLERANCE)
        )

    def _restore_limits(self, item: WatchedContainer, what: str) -> None:
        if self._next_restore.get(item.id, 0.0) > self._clock():
            return
        self._next_restore[item.id] = self._clock() + RESTORE_EVERY
        logger.warning("%s has less than was ordered (%s): its limits are restored", item.id[:12], what)
        try:
            self._restore(item)
        except (EngineSilent, EngineRefused) as error:
            logger.warning("the limits of %s cannot be restored: %s", item.id[:12], error)
