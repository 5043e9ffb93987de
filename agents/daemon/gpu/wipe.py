"""Handover of a GPU between two renters: no process computes there, and its memory is overwritten.

It happens before a container starts, however the one before it ended: by a stop, a crash or a reboot. GPUs that the
same instance had last are left alone.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from agents.daemon.gpu.benchmark import BurnInFailed, NotMeasurable
from agents.daemon.lib.errors import Failed
from agents.protocol.messages import DesiredInstance

logger = logging.getLogger(__name__)

END_WITHIN_S: Final = 10.0  # for processes of a container that has just ended
LOOK_AGAIN_S: Final = 0.2
AT_ONCE: Final = 8

Processes = Callable[[str], int | None]  # returns how many processes compute on this GPU; None: unknown
Wipe = Callable[[str], object]  # raises NotMeasurable or BurnInFailed


class GpuWiper:
    """Remembers which instance had which GPU last, as far as this agent has seen."""

    def __init__(self, processes: Processes, wipe: Wipe, *, end_within_s: float = END_WITHIN_S) -> None:
        self._processes = processes
        self._wipe = wipe
        self._end_within_s = end_within_s
        self._last: dict[str, str] = {}

    def prepare(self, desired: DesiredInstance) -> None:
        """Make sure that the instance's GPUs are idle and wiped.

        Raises:
            Failed: A process still computes on a GPU, or its memory cannot be overwritten.
        """
        fresh = [uuid for uuid in desired.gpu_uuids if self._last.get(uuid) != desired.id]
        if fresh and not desired.simulated_gpus:
            with ThreadPoolExecutor(AT_ONCE) as several:
                list(several.map(self._clean, fresh))
        self._last.update(dict.fromkeys(desired.gpu_uuids, desired.id))

    def _clean(self, uuid: str) -> None:
        end = time.monotonic() + self._end_within_s
        while self._processes(uuid):
            if time.monotonic() > end:
                raise Failed("gpu_conflict", f"Programs of the host compute on GPU {uuid}.")
            time.sleep(LOOK_AGAIN_S)
        try:
            self._wipe(uuid)
        except NotMeasurable as error:
            logger.warning("the memory of %s is not wiped: %s", uuid, error)
        except BurnInFailed as error:
            raise Failed("start_failed", f"The memory of GPU {uuid} could not be wiped: {error}") from error
