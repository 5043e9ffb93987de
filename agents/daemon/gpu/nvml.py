"""GPUs of a host: queried from NVML, or simulated (and marked so). They are identified by UUID alone."""

import math
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pynvml

from agents.daemon.gpu.health import fault_of, query_nvml
from agents.protocol.messages import GpuFacts, GpuSample

MIB = 1024**2
SIMULATED_PREFIX = "GPU-SIM-"
_SPACE = uuid.UUID("6d0d2a3c-5c0f-4a55-9a64-0b1d5a6d6e01")


class GpuProbe(Protocol):
    """Source of facts about GPUs; those of another vendor need only another probe."""

    simulated: bool

    def driver(self) -> tuple[str, str]:
        """Return the driver version and the highest CUDA version it supports; empty without GPUs."""

    def facts(self) -> list[GpuFacts]: ...

    def samples(self, uuids: Iterable[str]) -> list[GpuSample]: ...

    def nvlink(self) -> bool | None:
        """Return whether there are at least two GPUs, each with an active NVLink; None if unknown."""

    def compute_processes(self, uuid: str) -> int | None:
        """Return how many processes compute on this GPU; None if unknown."""

    def rated_tflops(self, uuid: str) -> float | None:
        """Return the FP32 rate by cores and highest clock, which is no measurement.

        Simulated GPUs return their model's nominal rate.
        """


class NvmlProbe:
    """NVIDIA GPUs, through `libnvidia-ml.so.1`."""

    simulated = False

    def __init__(self) -> None:
        self._known: dict[int, GpuFacts] = {}
        try:
            pynvml.nvmlInit()
            self._present = True
        except pynvml.NVMLError:
            self._present = False  # no NVIDIA driver: a host without GPUs

    def driver(self) -> tuple[str, str]:
        if not self._present:
            return "", ""
        cuda = query_nvml(pynvml.nvmlSystemGetCudaDriverVersion_v2, default=0)
        return query_nvml(
            pynvml.nvmlSystemGetDriverVersion, default=""
        ), f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else ""

    def facts(self) -> list[GpuFacts]:
        if not self._present:
            return []
        for index in range(query_nvml(pynvml.nvmlDeviceGetCount, default=len(self._known))):
            try:
                self._known[index] = _nvml_facts(index)
            except pynvml.NVMLError as error:
                # It has fallen off the bus: it is still the same GPU, but unfit to rent.
                if index in self._known:
                    self._known[index] = replace(self._known[index], healthy=False, detail=str(error))
        return list(self._known.values())

    def samples(self, uuids: Iterable[str]) -> list[GpuSample]:
        wanted = set(uuids)
        found = []
        for index, gpu in self._known.items():
            if gpu.uuid in wanted:
                try:
                    found.append(_nvml_sample(index, gpu.uuid))
                except pynvml.NVMLError:
                    continue  # its health reports it already
        return found

    def nvlink(self) -> bool | None:
        if not self._present:
            return None
        linked = [_linked(index) for index in self._known]
        if None in linked:
            return None
        return len(linked) > 1 and all(linked)

    def compute_processes(self, uuid: str) -> int | None:
        handle = self._handle(uuid)
        return (
            None
            if handle is None
            else query_nvml(lambda: len(pynvml.nvmlDeviceGetComputeRunningProcesses(handle)), default=None)
        )

    def rated_tflops(self, uuid: str) -> float | None:
        handle = self._handle(uuid)
        if handle is None:
            return None
        cores = query_nvml(pynvml.nvmlDeviceGetNumGpuCores, handle, default=0)
        megahertz = query_nvml(pynvml.nvmlDeviceGetMaxClockInfo, handle, pynvml.NVML_CLOCK_SM, default=0)
        return 2 * cores * megahertz / 1e6 or None

    def _handle(self, uuid: str) -> Any:
        """Return the GPU's NVML handle; None if it is not there (any more)."""
        index = next((index for index, gpu in self._known.items() if gpu.uuid == uuid), None)
        return None if index is None else query_nvml(pynvml.nvmlDeviceGetHandleByIndex, index, default=None)


def _nvml_facts(index: int) -> GpuFacts:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    trouble = fault_of(handle)
    return GpuFacts(
        uuid=pynvml.nvmlDeviceGetUUID(handle),
        name=pynvml.nvmlDeviceGetName(handle),
        vram_mb=pynvml.nvmlDeviceGetMemoryInfo(handle).total // MIB,
        index=index,
        pcie_gen=query_nvml(pynvml.nvmlDeviceGetMaxPcieLinkGeneration, handle, default=0),
        pcie_width=query_nvml(pynvml.nvmlDeviceGetMaxPcieLinkWidth, handle, default=0),
        healthy=not trouble,
        detail=trouble,
    )


def _linked(index: int) -> bool | None:
    """Return whether a GPU has an active NVLink; None if it has fallen off the bus.

    A GPU without NVLink does not support the call.
    """
    handle = query_nvml(pynvml.nvmlDeviceGetHandleByIndex, index, default=None)
    if handle is None:
        return None
    links = range(pynvml.NVML_NVLINK_MAX_LINKS)
    return any(
        query_nvml(pynvml.nvmlDeviceGetNvLinkState, handle, link, default=0) == pynvml.NVML_FEATURE_ENABLED for link in links
    )


def _nvml_sample(index: int, identity: str) -> GpuSample:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    return GpuSample(
        uuid=identity,
        util_pct=pynvml.nvmlDeviceGetUtilizationRates(handle).gpu,
        vram_used_mb=pynvml.nvmlDeviceGetMemoryInfo(handle).used // MIB,
        temperature_c=query_nvml(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU, default=0),
        power_w=query_nvml(pynvml.nvmlDeviceGetPowerUsage, handle, default=0) // 1000,
    )


@dataclass(frozen=True)
class _Model:
    name: str
    vram_mb: int
    fp32_tflops: float
    pcie_gen: int = 4
    nvlink: bool = False


# Short name → what NVML reports for such a GPU, and its nominal FP32 rate.
_MODELS = {
    "GTX 1080 Ti": _Model("NVIDIA GeForce GTX 1080 Ti", 11264, 11.34, 3),
    "RTX 2080 Ti": _Model("NVIDIA GeForce RTX 2080 Ti", 11264, 13.45, 3),
    "RTX 3060": _Model("NVIDIA GeForce RTX 3060", 12288, 12.74),
    "RTX 3080 Ti": _Model("NVIDIA GeForce RTX 3080 Ti", 12288, 34.1),
    "RTX 3090": _Model("NVIDIA GeForce RTX 3090", 24576, 35.58),
    "RTX 4090": _Model("NVIDIA GeForce RTX 4090", 24564, 82.6),
    "RTX 5090": _Model("NVIDIA GeForce RTX 5090", 32607, 104.8, 5),
    "RTX A4000": _Model("NVIDIA RTX A4000", 16376, 19.17),
    "RTX A5000": _Model("NVIDIA RTX A5000", 24564, 27.77),
    "RTX A6000": _Model("NVIDIA RTX A6000", 49140, 38.7),
    "V100": _Model("Tesla V100-SXM2-32GB", 32768, 15.7, 3, nvlink=True),
    "T4": _Model("Tesla T4", 15360, 8.1, 3),
    "A10": _Model("NVIDIA A10", 23028, 31.2),
    "A30": _Model("NVIDIA A30", 24576, 10.3),
    "A40": _Model("NVIDIA A40", 46068, 37.42),
    "A100": _Model("NVIDIA A100-SXM4-80GB", 81920, 19.5, nvlink=True),
    "L4": _Model("NVIDIA L4", 23034, 30.3),
    "L40S": _Model("NVIDIA L40S", 46068, 91.6),
    "H100 SXM": _Model("NVIDIA H100 80GB HBM3", 81559, 67.0, 5, nvlink=True),
    "H100 PCIe": _Model("NVIDIA H100 PCIe", 81559, 51.0, 5),
    "H200": _Model("NVIDIA H200", 143771, 67.0, 5, nvlink=True),
    "B200": _Model("NVIDIA B200", 183359, 75.0, 5, nvlink=True),
}
_DEFAULT_TFLOPS = 10.0
_DEFAULT_VRAM_MB = 24576


class BadGpuList(ValueError):
    """The text does not have the form "RTX 4090:4,A100:2"."""


class SimulatedProbe:
    """GPUs that do not exist; the same ones at every start of the same host."""

    simulated = True

    def __init__(self, wanted: str, seed: str) -> None:
        names = [name for name, count in parse_gpu_list(wanted) for _ in range(count)]
        self._gpus = [_simulated_gpu(name, index, seed) for index, name in enumerate(names)]
        self._models = {gpu.uuid: _model(name) for gpu, name in zip(self._gpus, names, strict=True)}

    def driver(self) -> tuple[str, str]:
        return "560.35.03", "12.6"

    def facts(self) -> list[GpuFacts]:
        return list(self._gpus)

    def samples(self, uuids: Iterable[str]) -> list[GpuSample]:
        wanted = set(uuids)
        return [_simulated_sample(gpu) for gpu in self._gpus if gpu.uuid in wanted]

    def nvlink(self) -> bool | None:
        return len(self._models) > 1 and all(model.nvlink for model in self._models.values())

    def compute_processes(self, uuid: str) -> int | None:
        return 0 if uuid in self._models else None

    def rated_tflops(self, uuid: str) -> float | None:
        model = self._models.get(uuid)
        return None if model is None else model.fp32_tflops


def parse_gpu_list(text: str) -> list[tuple[str, int]]:
    """Parse "RTX 4090:4,A100:2" into pairs such as ("RTX 4090", 4)."""
    found = []
    for part in filter(None, (item.strip() for item in text.split(","))):
        name, _, count = part.partition(":")
        if not name.strip() or not (count or "1").strip().isdecimal():
            raise BadGpuList(f"{part!r} is not MODEL or MODEL:COUNT")
        found.append((name.strip(), int(count or 1)))
    return found


def _model(name: str) -> _Model:
    return _MODELS.get(name, _Model(name, _DEFAULT_VRAM_MB, _DEFAULT_TFLOPS))


def _simulated_gpu(name: str, index: int, seed: str) -> GpuFacts:
    model = _model(name)
    return GpuFacts(
        uuid=f"{SIMULATED_PREFIX}{uuid.uuid5(_SPACE, f'{seed}:{index}:{name}')}",
        name=model.name,
        vram_mb=model.vram_mb,
        index=index,
        pcie_gen=model.pcie_gen,
        pcie_width=16,
        simulated=True,
    )


def _simulated_sample(gpu: GpuFacts) -> GpuSample:
    """Return a load that oscillates with a period of ten minutes, each GPU in a phase of its own.

    So graphs have something to show.
    """
    phase = int(gpu.uuid[-4:], 16) / 65536
    load = 0.5 + 0.45 * math.sin(2 * math.pi * (time.time() / 600 + phase))
    return GpuSample(
        uuid=gpu.uuid,
        util_pct=round(100 * load),
        vram_used_mb=round(gpu.vram_mb * (0.3 + 0.5 * load)),
        temperature_c=round(40 + 40 * load),
        power_w=round(80 + 300 * load),
    )
