"""What keeps a GPU from being rented out: a fault or a setting that only a reset, a repair or its owner ends.

Whoever has it already goes on; nobody gets it anew while one of these stands.
"""

from collections.abc import Callable
from typing import Any, Final

import pynvml

HOT: Final = pynvml.nvmlClocksThrottleReasonHwThermalSlowdown


def ask(question: Callable[..., Any], *arguments: Any, default: Any) -> Any:
    """Not every GPU and driver answers every question."""
    try:
        return question(*arguments)
    except pynvml.NVMLError:
        return default


def trouble_of(handle: Any) -> str:
    """A sentence with what to do; empty for a GPU with which nothing is wrong."""
    _, _, pending, failed = ask(pynvml.nvmlDeviceGetRemappedRows, handle, default=(0, 0, 0, 0))
    errors = ask(
        pynvml.nvmlDeviceGetTotalEccErrors,
        *(handle, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC),
        default=0,
    )
    retired = ask(pynvml.nvmlDeviceGetRetiredPagesPendingStatus, handle, default=0)
    divided, _ = ask(pynvml.nvmlDeviceGetMigMode, handle, default=(0, 0))
    slowed = ask(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle, default=0)
    rows = (
        (failed, "A memory row could not be remapped: replace the GPU."),
        (pending, "A memory row waits to be remapped: reset the GPU (nvidia-smi --gpu-reset)."),
        (retired, "A memory page waits to be retired: restart the machine."),
        (errors, f"{errors} memory errors that ECC could not correct since the driver was loaded: reset the GPU."),
        (divided, "MIG divides it, and GPUs are rented out whole: nvidia-smi -mig 0, then reset the GPU."),
        (slowed & HOT, "It slows down for heat: look at its fans and the air around it."),
    )
    return next((sentence for found, sentence in rows if found), "")
