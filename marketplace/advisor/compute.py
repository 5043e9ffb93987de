"""Amount of arithmetic in a workload, and how long GPUs of a model need for it."""

import math
from collections.abc import Mapping
from typing import Final

from marketplace.advisor.memory import (
    DIFFUSION_PIXELS,
    VISION_PIXELS,
    memory_of,
)
from marketplace.advisor.workload import Family, Precision, Task, Workload
from marketplace.gpu_catalogue.catalogue import GpuModel

# Model FLOPs utilisation: the share of the data sheet's rate that runs achieve.
UTILISATION: Final[Mapping[Family, float]] = {
    Family.LANGUAGE: 0.35,
    Family.ENCODER: 0.35,
    Family.VISION: 0.20,
    Family.DIFFUSION: 0.30,
}
BANDWIDTH_UTILISATION: Final = 0.7
SCALING: Final = 0.95  # share of the speed that is kept with each doubling of the GPUs
FORWARD: Final = 2.0  # FLOPs per parameter and token
VISION_FORWARD: Final = 320.0  # FLOPs per parameter and image of 224²: ResNet-50's 8.2 GFLOP ÷ 25.6 M
DIFFUSION_FORWARD: Final = 750.0  # FLOPs per parameter and denoising step at 512²: 0.8 TFLOP ÷ 1.07 G
DENOISING_STEPS: Final = 60  # 30 steps, each with and without the prompt
TERA: Final = 1e12
_SECONDS: Final = 3600.0


def network_passes(work: Workload) -> float:
    """Return the passes over the network, a forward pass being 1.

    A backward pass is 2, without weight gradients 1.
    """
    match work.task:
        case Task.INFER:
            return float(DENOISING_STEPS) if work.family == Family.DIFFUSION else 1.0
        case Task.LORA:
            return 2.0 + _again(work)
        case _:
            return 3.0 + _again(work)


def _again(work: Workload) -> float:
    return 1.0 if work.recompute and work.family != Family.VISION else 0.0


def forward_flops(work: Workload) -> float:
    """Return the floating-point operations of a forward pass for one token, or one image."""
    match work.family:
        case Family.VISION:
            return VISION_FORWARD * work.parameters * (work.pixels / VISION_PIXELS) ** 2
        case Family.DIFFUSION:
            return DIFFUSION_FORWARD * work.parameters * (work.pixels / DIFFUSION_PIXELS) ** 2
        case _:
            return FORWARD * work.parameters


def total_flops(work: Workload) -> float:
    rounds = work.epochs if work.trains else 1
    return forward_flops(work) * network_passes(work) * work.items * rounds


def tflops_of(work: Workload, model: GpuModel) -> float | None:
    """Return the data sheet's TFLOPS for this precision."""
    return model.fp32_tflops if work.precision == Precision.FP32 else model.tflops


def efficiency(count: int) -> float:
    return float(SCALING ** math.log2(count))


def generates_text(work: Workload) -> bool:
    """Return whether the work generates text.

    Text is generated token by token, and each step reads all weights, so memory may be slower than arithmetic.
    """
    return work.task == Task.INFER and work.family == Family.LANGUAGE


def tokens_per_second(work: Workload, model: GpuModel, *, count: int, size_gb: int) -> float | None:
    """Return the tokens per second of `count` GPUs for the whole batch.

    None where the catalogue lacks the model's rate or bandwidth.
    """
    rate, bandwidth = tflops_of(work, model), bandwidth_of(model, size_gb)
    if rate is None or bandwidth is None:
        return None
    memory = memory_of(work)
    by_memory = work.batch * bandwidth * 1e9 * BANDWIDTH_UTILISATION / (memory.weights + memory.cache)
    by_arithmetic = rate * TERA * UTILISATION[work.family] / forward_flops(work)
    return min(by_memory, by_arithmetic) * count * efficiency(count)


def hours_on(work: Workload, model: GpuModel, *, count: int, size_gb: int) -> float | None:
    """Return the hours of the whole work, or None where its amount or the model's rate is unknown."""
    rate = tflops_of(work, model)
    if not work.items or rate is None:
        return None
    if generates_text(work):
        speed = tokens_per_second(work, model, count=count, size_gb=size_gb)
        return None if speed is None else work.items / speed / _SECONDS
    return total_flops(work) / (count * efficiency(count) * rate * TERA * UTILISATION[work.family]) / _SECONDS


def bandwidth_of(model: GpuModel, size_gb: int) -> int | None:
    """Return the memory bandwidth in GB/s, for the model's size that is nearest to `size_gb`."""
    pairs = zip(model.vram_gb, model.bandwidth_gbps, strict=False)
    return min(pairs, key=lambda pair: abs(pair[0] - size_gb), default=(0, None))[1]
