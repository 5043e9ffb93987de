"""Host requirements beside the GPUs: CPU cores, memory, and the kind and speed of the disk."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from marketplace.advisor.memory import GB, LORA_SHARE, TRAINED_BYTES
from marketplace.advisor.workload import Family, Precision, Task, Workload

CORES: Final[Mapping[Family, int]] = {Family.LANGUAGE: 4, Family.ENCODER: 4, Family.VISION: 8, Family.DIFFUSION: 6}
INFERENCE_CORES: Final = 4
RAM_FOR_DATA: Final = 0.7  # share of the memory that may hold the data set; the rest is for programs
ENVIRONMENT_GB: Final = 20  # image layers, packages, compiled kernels
DATASET_ROOM: Final = 1.2
FULL_CHECKPOINT_BYTES: Final = 14  # per parameter: weights in 16 bits, FP32 copy and Adam's moments
CHECKPOINTS: Final = 3  # two are kept while the next one is written
LOAD_SECONDS: Final = 120  # weights are read again at each start
# MB/s that a disk of the kind reads at least, the slowest kind first.
DISK_KINDS: Final[Mapping[str, int]] = {"hdd": 200, "ssd": 500, "nvme": 2400}


@dataclass(frozen=True)
class Machine:
    """Host requirements; cores and RAM are per GPU.

    `disk_kinds` are those that suffice; `stream_mbps` is the disk rate that keeps the GPUs busy.
    """

    cpu_cores: int
    ram_gb: int
    data_in_ram: bool
    weights_gb: float
    checkpoint_gb: float
    disk_gb: int
    load_mbps: float
    stream_mbps: float | None
    disk_kinds: tuple[str, ...]

    @property
    def disk_mbps(self) -> int:
        return math.ceil(max(self.load_mbps, self.stream_mbps or 0.0, DISK_KINDS[self.disk_kinds[0]]))


def machine_for(work: Workload, *, gpu_count: int, card_gb: int, hours: float | None) -> Machine:
    """Return the host requirements of the work.

    `card_gb` is the memory of the GPUs that the work fits on; `hours` is how long they need, None where unknown.
    """
    weights_gb = weights_bytes(work) / GB
    checkpoint_gb = _checkpoint_bytes(work) / GB
    ram_gb = math.ceil(max(card_gb, 1.2 * weights_gb / gpu_count))
    in_ram = work.dataset_gb <= RAM_FOR_DATA * ram_gb * gpu_count
    load = weights_gb * 1000 / LOAD_SECONDS
    stream = None if hours is None or in_ram or not work.trains else work.dataset_gb * 1000 * work.epochs / (hours * 3600)
    disk = work.dataset_gb * DATASET_ROOM + weights_gb + checkpoint_gb * CHECKPOINTS + ENVIRONMENT_GB
    return Machine(
        cpu_cores=CORES[work.family] if work.trains else INFERENCE_CORES,
        ram_gb=ram_gb,
        data_in_ram=in_ram,
        weights_gb=weights_gb,
        checkpoint_gb=checkpoint_gb,
        disk_gb=math.ceil(disk),
        load_mbps=load,
        stream_mbps=stream,
        disk_kinds=_kinds(work, load, stream, in_ram=in_ram),
    )


def weights_bytes(work: Workload) -> float:
    """Return the size of the weights as they are downloaded and read, in 16 or 32 bits.

    A quantised model is often made from 16 bits.
    """
    return work.parameters * (4.0 if work.precision == Precision.FP32 else 2.0)


def _checkpoint_bytes(work: Workload) -> float:
    match work.task:
        case Task.INFER:
            return 0.0
        case Task.LORA:
            return work.parameters * LORA_SHARE * TRAINED_BYTES
        case _:
            return float(work.parameters * FULL_CHECKPOINT_BYTES)


def _kinds(work: Workload, load: float, stream: float | None, *, in_ram: bool) -> tuple[str, ...]:
    """Return the disk kinds that are fast enough.

    Data larger than memory is read in random order and excludes hard disks.
    """
    needed = max(load, stream or 0.0)
    if work.trains and not in_ram:
        needed = max(needed, DISK_KINDS["nvme" if stream is None else "ssd"])
    enough = tuple(kind for kind, floor in DISK_KINDS.items() if floor >= needed)
    return enough or ("nvme",)
