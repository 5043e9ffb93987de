"""Pool of threads for one kind of request, with its queue."""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, NamedTuple

from django.db import connections

from config.front.policy import PoolLimits, Traffic

logger = logging.getLogger(__name__)
STOP_WITHIN_S: Final = 5.0

# Share of the patience: once a request has waited this long, no other one is queued behind it.
_FULL: Final = 0.5

Work = Callable[[], None]


class _Job(NamedTuple):
    work: Work
    done: "asyncio.Future[bool]"
    since: float


class ThreadPool:
    """Pool of threads, each with its own database connections. `ask` belongs to the event loop."""

    def __init__(self, traffic: Traffic, share: PoolLimits) -> None:
        self._share = share
        # Held for a few instructions: a free thread and a waiting job must not miss each other.
        self._lock = threading.Lock()
        self._waiting: deque[_Job] = deque()
        # The thread that became free last is used first: its stack, its connection and their caches are warm.
        self._free: list[SimpleQueue[_Job | None]] = []
        self._threads = [
            threading.Thread(target=self._run, name=f"web-{traffic}-{number}", daemon=True)
            for number in range(share.threads)
        ]
        self._ended = False

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let each thread finish its request, and close the threads' connections."""
        with self._lock:
            self._ended = True
            self._waiting.clear()
            free, self._free = self._free, []
        for inbox in free:
            inbox.put(None)
        until = time.monotonic() + STOP_WITHIN_S
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def has_room(self) -> bool:
        """Return whether another request is likely to start in time, judged by the longest wait."""
        share, waiting = self._share, self._waiting
        if len(waiting) >= share.queue:
            return False
        try:
            return share.patience_s is None or time.monotonic() - waiting[0].since <= share.patience_s * _FULL
        except IndexError:  # nobody waits, or a thread has just taken the last one
            return True

    async def ask(self, work: Work) -> bool:
        """Return True when the work is done, False if no thread was free in time; raise what the work raises."""
        loop = asyncio.get_running_loop()
        job = _Job(work, loop.create_future(), time.monotonic())
        with self._lock:
            inbox = self._free.pop() if self._free else None
            if inbox is None:
                self._waiting.append(job)
        if inbox is not None:
            inbox.put(job)
            return await job.done
        if self._share.patience_s is None:
            return await job.done
        end = loop.call_later(self._share.patience_s, self._refuse_waiting, job)
        try:
            return await job.done
        finally:
            end.cancel()

    def _refuse_waiting(self, job: _Job) -> None:
        """Refuse a job unless a thread has taken it by now."""
        with self._lock:
            if job not in self._waiting:
                return
            self._waiting.remove(job)
        _set_result(job.done, None, began=False)

    def _run(self) -> None:
        inbox: SimpleQueue[_Job | None] = SimpleQueue()
        while (job := self._next(inbox)) is not None:
            error: BaseException | None = None
            try:
                job.work()
            except BaseException as caught:  # raised where the request is awaited
                error = caught
            _set_result_from_thread(job.done, error)
        connections.close_all()

    def _next(self, inbox: "SimpleQueue[_Job | None]") -> _Job | None:
        """Return the job that has waited longest, or else the next one; None at the end."""
        with self._lock:
            if self._ended:
                return None
            if self._waiting:
                return self._waiting.popleft()
            self._free.append(inbox)
        return inbox.get()


def _set_result_from_thread(done: "asyncio.Future[bool]", error: BaseException | None) -> None:
    try:
        done.get_loop().call_soon_threadsafe(_set_result, done, error)
    except RuntimeError:  # the loop has ended before its last request
        logger.info("A request was answered after the event loop had ended.")


def _set_result(done: "asyncio.Future[bool]", error: BaseException | None, began: bool = True) -> None:
    if done.done():
        return
    if error is None:
        done.set_result(began)
    else:
        done.set_exception(error)
