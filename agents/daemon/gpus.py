"""The GPUs of a host: asked of NVIDIA's library, or made up (and marked so) for development. Identity is the UUID alone."""

import math
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pynvml

from agents.protocol.messages import GpuFacts, GpuSample

MIB = 1024**2
SIMULATED_PREFIX = "GPU-SIM-"
_SPACE = uuid.UUID("6d0d2a3c-5c0f-4a55-9a64-0b1d5a6d6e01")


class GpuProbe(Protocol):
    """Another maker's GPUs need another probe, nothing else."""

    simulated: bool

    def driver(self) -> tuple[str, str]:
        """(driver version, highest CUDA version it supports); empty without GPUs."""

    def facts(self) -> list[GpuFacts]: ...

    def samples(self, uuids: Iterable[str]) -> list[GpuSample]: ...


class NvmlProbe:
    """NVIDIA GPUs by `libnvidia-ml.so.1`."""

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
        cuda = _ask(pynvml.nvmlSystemGetCudaDriverVersion_v2, default=0)
        return _ask(pynvml.nvmlSystemGetDriverVersion, default=""), f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else ""

    def facts(self) -> list[GpuFacts]:
        if not self._present:
            return []
        for index in range(_ask(pynvml.nvmlDeviceGetCount, default=len(self._known))):
            try:
                self._known[index] = _nvml_facts(index)
            except pynvml.NVMLError as error:
                # Fallen off the bus: still the same GPU, no longer fit to rent.
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
                    continue  # its health says so already
        return found


def _nvml_facts(index: int) -> GpuFacts:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    healthy, detail = _health(handle)
    return GpuFacts(
        uuid=pynvml.nvmlDeviceGetUUID(handle),
        name=pynvml.nvmlDeviceGetName(handle),
        vram_mb=pynvml.nvmlDeviceGetMemoryInfo(handle).total // MIB,
        index=index,
        pcie_gen=_ask(pynvml.nvmlDeviceGetMaxPcieLinkGeneration, handle, default=0),
        pcie_width=_ask(pynvml.nvmlDeviceGetMaxPcieLinkWidth, handle, default=0),
        healthy=healthy,
        detail=detail,
    )


def _health(handle: Any) -> tuple[bool, str]:
    _, _, pending, failed = _ask(pynvml.nvmlDeviceGetRemappedRows, handle, default=(0, 0, 0, 0))
    if failed:
        return False, "A memory row could not be remapped."
    return True, "A memory row waits to be remapped: reset the GPU." if pending else ""


def _nvml_sample(index: int, identity: str) -> GpuSample:
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    return GpuSample(
        uuid=identity,
        util_pct=pynvml.nvmlDeviceGetUtilizationRates(handle).gpu,
        vram_used_mb=pynvml.nvmlDeviceGetMemoryInfo(handle).used // MIB,
        temperature_c=_ask(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU, default=0),
        power_w=_ask(pynvml.nvmlDeviceGetPowerUsage, handle, default=0) // 1000,
    )


def _ask(question: Callable[..., Any], *arguments: Any, default: Any) -> Any:
    """Not every GPU and driver answers every question."""
    try:
        return question(*arguments)
    except pynvml.NVMLError:
        return default


@dataclass(frozen=True)
class _Model:
    name: str
    vram_mb: int
    pcie_gen: int = 4


# Short name → what NVML says of such a GPU.
_MODELS = {
    "GTX 1080 Ti": _Model("NVIDIA GeForce GTX 1080 Ti", 11264, 3),
    "RTX 2080 Ti": _Model("NVIDIA GeForce RTX 2080 Ti", 11264, 3),
    "RTX 3060": _Model("NVIDIA GeForce RTX 3060", 12288),
    "RTX 3080 Ti": _Model("NVIDIA GeForce RTX 3080 Ti", 12288),
    "RTX 3090": _Model("NVIDIA GeForce RTX 3090", 24576),
    "RTX 4090": _Model("NVIDIA GeForce RTX 4090", 24564),
    "RTX 5090": _Model("NVIDIA GeForce RTX 5090", 32607, 5),
    "RTX A4000": _Model("NVIDIA RTX A4000", 16376),
    "RTX A5000": _Model("NVIDIA RTX A5000", 24564),
    "RTX A6000": _Model("NVIDIA RTX A6000", 49140),
    "V100": _Model("Tesla V100-SXM2-32GB", 32768, 3),
    "T4": _Model("Tesla T4", 15360, 3),
    "A10": _Model("NVIDIA A10", 23028),
    "A30": _Model("NVIDIA A30", 24576),
    "A40": _Model("NVIDIA A40", 46068),
    "A100": _Model("NVIDIA A100-SXM4-80GB", 81920),
    "L4": _Model("NVIDIA L4", 23034),
    "L40S": _Model("NVIDIA L40S", 46068),
    "H100 SXM": _Model("NVIDIA H100 80GB HBM3", 81559, 5),
    "H100 PCIe": _Model("NVIDIA H100 PCIe", 81559, 5),
    "H200": _Model("NVIDIA H200", 143771, 5),
    "B200": _Model("NVIDIA B200", 183359, 5),
}
_DEFAULT_VRAM_MB = 24576


class BadGpuList(ValueError):
    """The text is not of the form "RTX 4090:4,A100:2"."""


class SimulatedProbe:
    """GPUs that do not exist, the same ones at every start of the same host."""

    simulated = True

    def __init__(self, wanted: str, seed: str) -> None:
        names = [name for name, count in parse_gpu_list(wanted) for _ in range(count)]
        self._gpus = [_simulated_gpu(name, index, seed) for index, name in enumerate(names)]

    def driver(self) -> tuple[str, str]:
        return "560.35.03", "12.6"

    def facts(self) -> list[GpuFacts]:
        return list(self._gpus)

    def samples(self, uuids: Iterable[str]) -> list[GpuSample]:
        wanted = set(uuids)
        return [_simulated_sample(gpu) for gpu in self._gpus if gpu.uuid in wanted]


def parse_gpu_list(text: str) -> list[tuple[str, int]]:
    """("RTX 4090", 4) for each part of "RTX 4090:4,A100:2"."""
    found = []
    for part in filter(None, (item.strip() for item in text.split(","))):
        name, _, count = part.partition(":")
        if not name.strip() or not (count or "1").strip().isdecimal():
            raise BadGpuList(f"{part!r} is not MODEL or MODEL:COUNT")
        found.append((name.strip(), int(count or 1)))
    return found


def _simulated_gpu(name: str, index: int, seed: str) -> GpuFacts:
    model = _MODELS.get(name, _Model(name, _DEFAULT_VRAM_MB))
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
    """A load that swings over ten minutes, each GPU in its own phase, so that graphs have something to show."""
    phase = int(gpu.uuid[-4:], 16) / 65536
    load = 0.5 + 0.45 * math.sin(2 * math.pi * (time.time() / 600 + phase))
    return GpuSample(
        uuid=gpu.uuid,
        util_pct=round(100 * load),
        vram_used_mb=round(gpu.vram_mb * (0.3 + 0.5 * load)),
        temperature_c=round(40 + 40 * load),
        power_w=round(80 + 300 * load),
    )
