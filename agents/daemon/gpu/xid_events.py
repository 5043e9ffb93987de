"""GPU errors that NVIDIA's driver reports (Xid), counted until the control plane has received them."""

import ctypes
import logging
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pynvml

from agents.protocol.messages import ObservedInstance
from agents.protocol.telemetry_messages import GpuEvent

logger = logging.getLogger(__name__)

OFF_THE_BUS = 79
# After one of these, a GPU is not rented out again until the agent is restarted, which follows a reset or a repair.
UNFIT = frozenset({48, 62, 64, OFF_THE_BUS, 95, 119, 120, 140})
WAIT_MS = 1000
RETRY_S = 30.0


class GpuEvents:
    """Xid errors that were not reported yet, and the GPUs that are unfit because of one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: Counter[tuple[str, int]] = Counter()
        self._in_report: Counter[tuple[str, int]] = Counter()
        self._unfit: dict[str, int] = {}

    def record(self, uuid: str, xid: int) -> None:
        logger.warning("the driver reports Xid %d of %s", xid, uuid)
        with self._lock:
            self._waiting[uuid, xid] += 1
            if xid in UNFIT:
                self._unfit.setdefault(uuid, xid)

    def unreported(self) -> list[GpuEvent]:
        with self._lock:
            self._in_report = Counter(self._waiting)
        return [GpuEvent(uuid, xid, count) for (uuid, xid), count in sorted(self._in_report.items())]

    def keep(self) -> None:
        """Forget the errors in the last report, which has arrived."""
        with self._lock:
            self._waiting -= self._in_report
            self._in_report.clear()

    def why_unfit(self, uuid: str) -> str:
        """Return why a GPU is unfit; empty if it is not."""
        with self._lock:
            xid = self._unfit.get(uuid)
        return "" if xid is None else f"Xid {xid}: reset or replace this GPU, then restart the agent."

    def judged(self, rows: Sequence[ObservedInstance]) -> list[ObservedInstance]:
        """Return the rows with running instances marked as failed, by the host's fault, if their GPU is lost."""
        with self._lock:
            lost = {uuid for uuid, xid in self._unfit.items() if xid == OFF_THE_BUS}
        return [_failed(row) if row.phase == "running" and lost & set(row.gpu_uuids) else row for row in rows]


def _failed(row: ObservedInstance) -> ObservedInstance:
    detail = "A GPU of it has fallen off the bus: the host cannot reach it any more (Xid 79)."
    return replace(row, phase="failed", failure_code="gpu_lost", detail=detail, sample=None)


def watch_nvml(events: GpuEvents, rang: Callable[[], None], stopped: threading.Event) -> None:
    """Record Xid events until `stopped`; return at once without NVIDIA's driver."""
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return
    while not stopped.is_set():
        try:
            _listen(events, rang, stopped)
        except pynvml.NVMLError as error:
            logger.warning("errors of GPUs cannot be listened to: %s", error)
            stopped.wait(RETRY_S)


def _listen(events: GpuEvents, rang: Callable[[], None], stopped: threading.Event) -> None:
    event_set = pynvml.nvmlEventSetCreate()
    try:
        known = _register(event_set)
        if not known:
            stopped.wait(RETRY_S)
        while known and not stopped.is_set():
            try:
                event = pynvml.nvmlEventSetWait_v2(event_set, WAIT_MS)
            except pynvml.NVMLError_Timeout:
                continue
            events.record(known.get(_address(event.device), "unknown"), int(event.eventData))
            rang()
    finally:
        pynvml.nvmlEventSetFree(event_set)


def _register(event_set: Any) -> dict[int | None, str]:
    """Register for the events of all GPUs and return handle → UUID, read while the GPUs still answer.

    GPUs without such events are left out.
    """
    known: dict[int | None, str] = {}
    for index in range(pynvml.nvmlDeviceGetCount()):
        try:
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            pynvml.nvmlDeviceRegisterEvents(handle, pynvml.nvmlEventTypeXidCriticalError, event_set)
            known[_address(handle)] = pynvml.nvmlDeviceGetUUID(handle)
        except pynvml.NVMLError:
            continue
    return known


def _address(handle: Any) -> int | None:
    return ctypes.cast(handle, ctypes.c_void_p).value
