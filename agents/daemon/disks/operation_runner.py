"""Operations apart from running containers, such as snapshots, copies and saved images.

Each order runs in one thread and can be repeated safely.
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Final

from agents.daemon.engine.interface import EngineRefused, EngineSilent
from agents.daemon.lib.errors import Failed, Superseded
from agents.protocol.messages import ObservedOperation, OperationOrder
from agents.protocol.progress_messages import Said

logger = logging.getLogger(__name__)

AT_ONCE: Final = 2
# These do not wait for a slot: two hosts could wait for each other for ever.
OF_TWO_HOSTS: Final = frozenset({"send_root", "receive_root", "send_volume", "receive_volume"})
# A sync takes hours, and has its own limit; so has a renter's command.
UNLIMITED_KINDS: Final = OF_TWO_HOSTS | {"sync_objects", "run_command"}
OUTCOME_CHARS: Final = 1024 * 1024  # of all outcomes in one report, whose size is limited; the rest follows in the next
STEP_BYTES: Final = 8 * 1024 * 1024  # bytes; smaller steps of progress are not reported at once


@dataclass
class Operation:
    """One order being carried out; its operator calls `check` between steps and `progress` as it advances."""

    order: OperationOrder
    changed: Callable[[bool], None]
    cancelled: threading.Event = field(default_factory=threading.Event)
    unwanted: bool = False  # cancelled for good, not because the agent ends: nothing of it need be kept
    seen: ObservedOperation = field(init=False)

    def __post_init__(self) -> None:
        self.seen = ObservedOperation(self.order.id, "running")

    def check(self) -> None:
        """Check whether the operation is still wanted.

        Raises:
            Superseded: It was cancelled.
        """
        if self.cancelled.is_set():
            raise Superseded

    def progress(self, done: int = 0, total: int = 0, said: Said | None = None, *, files: tuple[int, int] = (0, 0)) -> None:
        """Report progress in bytes, and in files as (done, total).

        Raises:
            Superseded: The operation was cancelled.
        """
        self.check()
        before = self.seen
        seen = replace(before, done_bytes=done, total_bytes=total)
        if said is not None:
            seen = replace(seen, said=said, detail=said.in_english)
        self.seen = replace(seen, done_files=files[0], total_files=files[1])
        if (
            said not in (None, before.said)
            or files != (before.done_files, before.total_files)
            or total != before.total_bytes
            or done // STEP_BYTES != before.done_bytes // STEP_BYTES
        ):
            self.changed(False)


# Carries out one order and returns its outcome. Failed ends it with a code of its own, anything else with
# "operation_failed".
Operator = Callable[[Operation], Mapping[str, str]]
# Removes what is left of orders other than the named ones: `tidy` of an earlier run of this agent, in a thread, and
# `forget` of this one, after each sync.
Cleanup = Callable[[Collection[str]], None]


class Operations:
    """Carries out the orders that the desired state names. `apply` and `seen` belong to the loop's thread."""

    def __init__(
        self,
        operators: Mapping[str, Operator],
        *,
        inline: bool,
        tidy: Cleanup | None = None,
        forget: Cleanup = lambda named: None,
    ) -> None:
        self._operators = operators
        self._tidy = tidy
        self._forget = forget
        self._inline = inline
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self._own: dict[str, Operation] = {}
        self._threads: list[threading.Thread] = []  # also of cancelled orders, until they have cleaned up
        self.changed: Callable[[bool], None] = lambda urgent: None

    def apply(self, orders: Iterable[OperationOrder]) -> None:
        """Start new orders, and cancel and forget those that the desired state no longer names."""
        named = {order.id: order for order in orders}
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._clean_up_once(named)
        for key in [key for key in self._own if key not in named]:
            dropped = self._own.pop(key)
            dropped.unwanted = True
            dropped.cancelled.set()
        for key, order in named.items():
            if key not in self._own:
                self._start_order(order)
        self._forget(named)

    def _clean_up_once(self, named: Collection[str]) -> None:
        """Clean up in a thread, with the first orders after the agent's start."""
        tidy, self._tidy = self._tidy, None
        if tidy is not None:
            self._start(threading.Thread(target=tidy, args=(frozenset(named),), name="tidy", daemon=True))

    def _start(self, thread: threading.Thread) -> None:
        thread.start()
        self._threads.append(thread)

    def seen(self) -> list[ObservedOperation]:
        """Return the state of each order; of a result for which the report has no more room, that it still runs."""
        rows, room = [self._own[key].seen for key in sorted(self._own)], OUTCOME_CHARS
        for position, row in enumerate(rows):
            size = sum(map(len, row.outcome.values()))
            if size > room and room < OUTCOME_CHARS:
                rows[position] = replace(row, phase="running", outcome={})
            else:
                room -= size
        return rows

    def at_work(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def cancel(self) -> None:
        """Cancel all operations at their next check; may be called from any thread."""
        for own in list(self._own.values()):
            own.cancelled.set()

    def _start_order(self, order: OperationOrder) -> None:
        own = self._own[order.id] = Operation(order, self.changed)
        logger.info("operation %s (%s) begins", order.id, order.kind)
        if self._inline:
            self._run(own)
            return
        self._start(threading.Thread(target=self._run_in_slot, args=(own,), name=f"operation-{order.kind}", daemon=True))

    def _run_in_slot(self, own: Operation) -> None:
        with nullcontext() if own.order.kind in UNLIMITED_KINDS else self._slots:
            self._run(own)
        self.changed(True)

    def _run(self, own: Operation) -> None:
        operator = self._operators.get(own.order.kind)
        try:
            if operator is None:
                raise Failed("unknown_operation", f"This agent knows no {own.order.kind}; it may be too old.")
            own.check()
            outcome = dict(operator(own))
        except Superseded:
            return
        except Failed as error:
            own.seen = replace(own.seen, phase="failed", failure_code=error.code, detail=error.detail)
        except (EngineRefused, EngineSilent, OSError) as error:
            own.seen = replace(own.seen, phase="failed", failure_code="operation_failed", detail=str(error)[:300])
        except Exception as error:  # whatever the error, the rest of the agent must go on
            logger.exception("operation %s (%s) broke off", own.order.id, own.order.kind)
            own.seen = replace(own.seen, phase="failed", failure_code="operation_failed", detail=type(error).__name__)
        else:
            own.seen = replace(own.seen, phase="done", outcome=outcome)
        logger.info("operation %s (%s): %s", own.order.id, own.order.kind, own.seen.phase)
