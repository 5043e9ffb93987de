"""Runs planned actions, at most one per instance, with cancellation and exponential back-off."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping

from agents.daemon.lib.errors import Failed, Superseded
from agents.daemon.lib.journal import Journal
from agents.daemon.reconciler.actions import ActionExecutor
from agents.daemon.reconciler.jobs import Job, JobPhase
from agents.daemon.reconciler.plan import Action
from agents.protocol.messages import DesiredInstance

logger = logging.getLogger(__name__)

FIRST_RETRY = 0.5
LONGEST_RETRY = 30.0


class WorkerPool:
    """Pool of jobs; `inline` runs them in the caller's own thread, for runtimes whose calls are instant."""

    def __init__(self, steps: ActionExecutor, journal: Journal, *, inline: bool, changed: Callable[[bool], None]) -> None:
        self._steps = steps
        self._journal = journal
        self._inline = inline
        self._changed = changed
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._ended: dict[str, tuple[float, JobPhase | None]] = {}  # when the last job ended, and its last phase
        self._tries: dict[str, int] = {}
        self._not_before: dict[str, float] = {}
        self._absent: set[str] = set()

    @property
    def absent(self) -> frozenset[str]:
        """Return the instances that were removed here and are proven to be gone."""
        with self._lock:
            return frozenset(self._absent)

    def busy(self, seen_at: float) -> dict[str, JobPhase]:
        """Return the phase of present work, and of work that ended since the engine was last observed.

        An older view does not show that work's outcome: a container that passed its test but is not in the view yet
        would look as if it had vanished.
        """
        with self._lock:
            words = {instance: last for instance, (at, last) in self._ended.items() if at >= seen_at}
            words.update({instance: job.busy for instance, job in self._jobs.items()})
        return {instance: progress for instance, progress in words.items() if progress is not None}

    def at_work(self) -> bool:
        with self._lock:
            return bool(self._jobs)

    def next_try_in(self) -> float | None:
        with self._lock:
            due = min(self._not_before.values(), default=None)
        return None if due is None else max(0.0, due - time.monotonic())

    def cancel_outdated(self, desired: Mapping[str, DesiredInstance]) -> None:
        """Cancel jobs whose instance should now be something else; they stop at their next step."""
        with self._lock:
            jobs = dict(self._jobs)
        for instance, job in jobs.items():
            if instance not in desired or not job.serves(desired[instance]):
                job.cancelled.set()

    def forget_absent(self, named: Iterable[str]) -> None:
        """Forget absent instances that the control plane no longer asks for."""
        with self._lock:
            self._absent &= set(named)

    def start(self, actions: Iterable[Action], seen_at: float) -> bool:
        """Start the actions that can start; return whether anything was done in this very call.

        `seen_at` is when the engine was observed for this plan, which says nothing about an instance whose last job
        ended later.
        """
        begun = [self._start_job(action, seen_at) for action in actions]
        return self._inline and any(begun)

    def _start_job(self, action: Action, seen_at: float) -> bool:
        instance = action.desired.id
        job = Job(action, self._changed)
        with self._lock:
            if self._not_before.get(instance, 0.0) > time.monotonic() or self._ended_since(instance, seen_at):
                return False
            current = self._jobs.get(instance)
            if current is not None and not (action.kind == "remove" and _may_overtake(current, action)):
                return False  # its end wakes the loop, which plans again
            self._jobs[instance] = job
            self._not_before.pop(instance, None)
        logger.info("%s %s generation=%d fence=%d", action.kind, instance, action.desired.generation, action.desired.fence)
        if self._inline:
            self._work(job)
        else:
            threading.Thread(target=self._work, args=(job,), name=f"{action.kind}-{instance[:8]}", daemon=True).start()
        return True

    def _work(self, job: Job) -> None:
        instance = job.desired.id
        try:
            self._steps.run(job)
        except Superseded:
            logger.info("%s %s superseded", job.action.kind, instance)
        except Failed as failure:
            self._fail(job, failure)
        except Exception as error:
            self._postpone(job, error)
        else:
            self._succeed(job)
        with self._lock:
            if self._jobs.get(instance) is job:
                del self._jobs[instance]
                self._ended[instance] = time.monotonic(), job.busy
        self._changed(True)

    def _ended_since(self, instance: str, seen_at: float) -> bool:
        return instance in self._ended and self._ended[instance][0] >= seen_at

    def _succeed(self, job: Job) -> None:
        with self._lock:
            self._tries.pop(job.desired.id, None)
            if job.action.kind == "remove":
                self._absent.add(job.desired.id)

    def _fail(self, job: Job, failure: Failed) -> None:
        if job.cancelled.is_set():
            return  # nobody is interested in the outcome any more
        logger.warning("%s %s failed: %s", job.action.kind, job.desired.id, failure)
        self._journal.record_failure(job.desired, failure.code, failure.detail, failure.about)

    def _postpone(self, job: Job, error: Exception) -> None:
        instance = job.desired.id
        with self._lock:
            tries = self._tries.get(instance, 0)
            delay = min(LONGEST_RETRY, FIRST_RETRY * 2**tries)
            self._tries[instance] = tries + 1
            self._not_before[instance] = time.monotonic() + delay
        logger.warning("%s %s: %s; again in %.1f s", job.action.kind, instance, error, delay, exc_info=_is_unexpected(error))


def _may_overtake(current: Job, action: Action) -> bool:
    """Return whether a removal may overtake the present job, such as a hanging pull or stop."""
    return current.action.kind != "remove" and not current.serves(action.desired) and current.overtake()


def _is_unexpected(error: Exception) -> bool:
    return type(error).__module__.split(".")[0] != "agents" and not isinstance(error, OSError)
