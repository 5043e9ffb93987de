"""One piece of work for an instance, with its phase for the report and its cancellation."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from agents.daemon.lib.errors import Superseded
from agents.daemon.reconciler.plan import Action
from agents.protocol.messages import DesiredInstance, LayerProgress, Phase
from agents.protocol.progress_messages import Said


class JobPhase(NamedTuple):
    """Phase of the work, for the report."""

    phase: Phase
    said: Said | None = None
    layers: tuple[LayerProgress, ...] = ()


class Job:
    """Work shared by the thread that does it and the loop that reports and cancels it."""

    def __init__(self, action: Action, changed: Callable[[bool], None]) -> None:
        self.action = action
        self.cancelled = threading.Event()
        self._changed = changed
        self._busy: JobPhase | None = None
        self._lock = threading.Lock()
        self._passable = False

    @property
    def desired(self) -> DesiredInstance:
        return self.action.desired

    @property
    def busy(self) -> JobPhase | None:
        return self._busy

    def report(self, phase: Phase, said: Said | None = None) -> None:
        """Report the phase to the loop.

        Raises:
            Superseded: The job was cancelled.
        """
        self._report(JobPhase(phase, said))

    def report_layers(self, said: Said, layers: tuple[LayerProgress, ...]) -> None:
        """How far the image is."""
        self._report(JobPhase("pulling", said, layers))

    def _report(self, busy: JobPhase) -> None:
        self.check()
        if self._busy != busy:
            self._busy = busy
            self._changed(False)

    def check(self) -> None:
        if self.cancelled.is_set():
            raise Superseded

    def serves(self, desired: DesiredInstance) -> bool:
        """Return whether this work still leads to `desired`."""
        own = self.desired
        return (own.run, own.generation, own.fence) == (desired.run, desired.generation, desired.fence)

    def overtake(self) -> bool:
        """Cancel; return True if the work is in a long wait and is now certain to change nothing any more."""
        with self._lock:
            self.cancelled.set()
            return self._passable

    @contextmanager
    def passable(self) -> Iterator[None]:
        """Mark a long wait that a removal need not await.

        Raises:
            Superseded: The job was cancelled before or during the wait.
        """
        with self._lock:
            self.check()
            self._passable = True
        try:
            yield
        finally:
            with self._lock:
                self._passable = False
        self.check()
