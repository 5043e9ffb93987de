"""Faults and settings that keep a GPU from being rented out, with their remedies.

An instance that has the GPU already keeps it; it is not given to another one while a fault lasts.
"""

from collections.abc import Callable
from typing import Any, Final

import pynvml

HOT: Final = pynvml.nvmlClocksThrottleReasonHwThermalSlowdown


def query_nvml(question: Callable[..., Any], *arguments: Any, default: Any) -> Any:
    """Call NVML; return the default on an error, since not every GPU and driver supports every call."""
    try:
        return question(*arguments)
    except pynvml.NVMLError:
        return default


def fault_of(handle: Any) -> str:
    """Return a sentence about the fault and its remedy; empty for a healthy GPU."""
    _, _, pending, failed = query_nvml(pynvml.nvmlDeviceGetRemappedRows, handle, default=(0, 0, 0, 0))
    errors = query_nvml(
        pynvml.nvmlDeviceGetTotalEccErrors,
        *(handle, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC),
        default=0,
    )
    retired = query_nvml(pynvml.nvmlDeviceGetRetiredPagesPendingStatus, handle, default=0)
    divided, _ = query_nvml(pynvml.nvmlDeviceGetMigMode, handle, default=(0, 0))
    slowed = query_nvml(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle, default=0)
    rows = (
        (failed, "A memory row could not be remapped: replace the GPU."),
        (pending, "A memory row waits to be remapped: reset the GPU (nvidia-smi --gpu-reset)."),
        (retired, "A memory page waits to be retired: restart the machine."),
        (errors, f"{errors} memory errors that ECC could not correct since the driver was loaded: reset the GPU."),
        (divided, "MIG divides it, and GPUs are rented out whole: nvidia-smi -mig 0, then reset the GPU."),
        (slowed & HOT, "It slows down for heat: look at its fans and the air around it."),
    )
    return next((sentence for found, sentence in rows if found), "")
