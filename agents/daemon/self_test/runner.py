"""Runs the self-test that the control plane requests, once, in a thread, and keeps its result."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from agents.protocol.messages import Check, SelfTestResult

logger = logging.getLogger(__name__)

DEADLINE_SECONDS: Final = 240.0  # the control plane gives up after 15 minutes
HUNG_SECONDS: Final = 60.0  # a check that takes this much longer is not awaited

Checks = Callable[[Callable[[], frozenset[str]]], Iterator[Check]]


@dataclass
class _Run:
    """One self-test, running or ended; `seconds` is set once it has ended."""

    id: str
    begun: float
    checks: list[Check] = field(default_factory=list)
    seconds: float | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)


class SelfTester:
    """Runs at most one self-test at a time. `ask` and `result` belong to the loop's thread."""

    def __init__(
        self,
        checks: Checks,
        *,
        inline: bool,
        changed: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._checks = checks
        self._inline = inline
        self._clock = clock
        self.changed = changed
        self._run: _Run | None = None
        self._thread: threading.Thread | None = None

    def apply(self, wanted: str, held: Callable[[], frozenset[str]]) -> None:
        """Start the self-test that the desired state names, unless it is running; cancel any other.

        `wanted` is "" if none is requested.
        """
        if self._run is not None and self._run.id != wanted:
            self._run.cancelled.set()
            self._run = None
        if not wanted or self._run is not None or self.at_work():
            return  # the former one is still stopping: the next sync asks again
        run = self._run = _Run(wanted, self._clock())
        logger.info("self-test %s begins", wanted)
        if self._inline:
            self._run_checks(run, held)
        else:
            self._thread = threading.Thread(target=self._run_checks, args=(run, held), name="self-test", daemon=True)
            self._thread.start()

    def cancel(self) -> None:
        """End after the present check; may be called from any thread."""
        if self._run is not None:
            self._run.cancelled.set()

    def at_work(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def result(self) -> SelfTestResult | None:
        """Return the result, None while there is none.

        If a check hangs for good, the result has the checks before it.
        """
        run = self._run
        if run is None:
            return None
        if run.seconds is not None:
            return SelfTestResult(run.id, list(run.checks), round(run.seconds, 1))
        taken = self._clock() - run.begun
        if taken < DEADLINE_SECONDS + HUNG_SECONDS:
            return None
        return SelfTestResult(run.id, [*run.checks, _late("A check hangs.")], round(taken, 1))

    def _run_checks(self, run: _Run, held: Callable[[], frozenset[str]]) -> None:
        try:
            for check in self._checks(held):
                if run.cancelled.is_set():
                    return
                run.checks.append(check)
                if self._clock() - run.begun > DEADLINE_SECONDS:
                    run.checks.append(_late(f"Broken off after {DEADLINE_SECONDS:.0f} s."))
                    break
        except Exception as error:  # whatever the error, the rest of the agent must go on
            logger.exception("the self-test broke off")
            failed = Check(id="finished", passed=False, reason="failed", actual=f"{type(error).__name__}: {error}")
            run.checks.append(failed)
        run.seconds = self._clock() - run.begun
        logger.info("self-test %s: %d checks in %.1f s", run.id, len(run.checks), run.seconds)
        self.changed()


def _late(why: str) -> Check:
    return Check(id="finished", passed=False, reason="out_of_time", actual=why)
