"""GPU memory of a workload, part by part, and its division over several GPUs.

In bytes; 1 GB is 10^9 bytes. Each part is a known formula; docs/advisor.md gives its source. All assume an attention
that keeps no score matrix (FlashAttention), as in every current framework.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from marketplace.advisor.workload import Family, Precision, Task, Workload

GB: Final = 10**9
WEIGHT_BYTES: Final[Mapping[Precision, float]] = {
    Precision.FP32: 4.0,
    Precision.FP16: 2.0,
    Precision.INT8: 1.0,
    Precision.INT4: 0.55,  # 4 bits, scales of the blocks, and unquantised parts
}
# Besides its weight, each trained parameter needs a gradient, Adam's two moments and, in mixed precision, an FP32
# copy: 2 + 4 + 8 bytes over the 2 of the weight, or 4 + 8 over the 4: 16 in all either way.
TRAINED_BYTES: Final = 16.0
LORA_SHARE: Final = 0.005  # share of the parameters: rank 16 on every linear layer
ASPECT: Final = 128.0  # width ÷ layers of the GPT family
_LAYER_FACTOR: Final = 12.0  # parameters of a layer = 12 · width²
ACTIVATION_FACTOR: Final = 34.0  # bytes per layer, token and width in 16 bits
RECOMPUTED_FACTOR: Final = 2.0  # only each layer's input is kept
INFERENCE_FACTOR: Final = 16.0  # only the active layer
VOCABULARY: Final = 32_000
LOGIT_BYTES: Final = 8.0  # logits and their gradient in FP32
# Measured reference values from the cited documents, in bytes for one image in 16 bits.
VISION_TRAIN: Final = 60e6  # ResNet-50 at 224²: batch 256 fits 16 GB
VISION_INFER: Final = 4e6
VISION_PARAMETERS: Final = 25.6e6
VISION_PIXELS: Final = 224
DIFFUSION_TRAIN: Final = 6e9  # a latent diffusion model at 512²
DIFFUSION_RECOMPUTED: Final = 2e9
DIFFUSION_INFER: Final = 1.3e9
DIFFUSION_PIXELS: Final = 512
CONTEXT_BYTES: Final = 0.8e9  # CUDA context, kernels, workspaces of the libraries: on every GPU
SLACK: Final = 0.05  # memory that the allocator cannot use


@dataclass(frozen=True)
class Memory:
    """Memory of a workload in bytes.

    `states` (weights, gradients, optimiser) and `cache` divide over GPUs; `per_sample` is for each of `batch`.
    """

    weights: float
    training: float
    cache: float
    per_sample: float
    working: float
    batch: int

    @property
    def states(self) -> float:
        return self.weights + self.training

    @property
    def activations(self) -> float:
        return self.per_sample * self.batch + self.working

    @property
    def total(self) -> float:
        return self.per_gpu(1)

    def per_gpu(self, count: int) -> float:
        """Return the memory on each of `count` GPUs.

        States are sharded (ZeRO-3, tensor parallel), and the batch is divided into whole samples.
        """
        samples = math.ceil(self.batch / count)
        parts = (self.states + self.cache) / count + self.per_sample * samples + self.working
        return parts * (1 + SLACK) + CONTEXT_BYTES


def memory_of(work: Workload) -> Memory:
    trained = work.parameters * _trained_share(work)
    weights = work.parameters * WEIGHT_BYTES[work.precision]
    # The adapters of LoRA are added in full to the frozen weights; elsewhere the weight itself is one of the 16
    # bytes.
    extra = TRAINED_BYTES if work.task == Task.LORA else TRAINED_BYTES - WEIGHT_BYTES[work.precision]
    per_sample, working = _activations(work)
    return Memory(weights, trained * extra, _cache(work), per_sample, working, work.batch)


def transformer_shape(work: Workload) -> tuple[float, float]:
    """Return (layers, width): as given, else those of a GPT of this size, N = 12·L·h² with h = 128·L."""
    size = work.parameters / _LAYER_FACTOR
    if work.layers and work.hidden:
        return work.layers, work.hidden
    if work.layers:
        return work.layers, math.sqrt(size / work.layers)
    if work.hidden:
        return size / work.hidden**2, work.hidden
    layers = (size / ASPECT**2) ** (1 / 3)
    return layers, ASPECT * layers


def value_bytes(work: Workload) -> float:
    """Return the bytes of an activation: quantised weights are multiplied in 16 bits."""
    return 4.0 if work.precision == Precision.FP32 else 2.0


def _trained_share(work: Workload) -> float:
    return {Task.INFER: 0.0, Task.LORA: LORA_SHARE}.get(work.task, 1.0)


def _cache(work: Workload) -> float:
    """Return the size of keys and values of every token in every layer."""
    if work.task != Task.INFER or work.family != Family.LANGUAGE:
        return 0.0
    layers, hidden = transformer_shape(work)
    return 2 * value_bytes(work) * layers * hidden * (work.kv_share / 100) * work.sequence * work.batch


def _activations(work: Workload) -> tuple[float, float]:
    """Return the activations per sample of the batch, and those needed once."""
    wide = value_bytes(work) / 2.0
    if work.family == Family.VISION:
        scale = math.sqrt(work.parameters / VISION_PARAMETERS) * (work.pixels / VISION_PIXELS) ** 2
        return wide * scale * (VISION_TRAIN if work.trains else VISION_INFER), 0.0
    if work.family == Family.DIFFUSION:
        kept = DIFFUSION_RECOMPUTED if work.recompute else DIFFUSION_TRAIN
        return wide * (work.pixels / DIFFUSION_PIXELS) ** 2 * (kept if work.trains else DIFFUSION_INFER), 0.0
    layers, hidden = transformer_shape(work)
    row = wide * work.sequence * hidden
    if not work.trains:
        return 0.0, INFERENCE_FACTOR * row  # requests are processed one at a time
    logits = LOGIT_BYTES * work.sequence * VOCABULARY if work.family == Family.LANGUAGE else 0.0
    if work.recompute:
        return row * (RECOMPUTED_FACTOR * layers + ACTIVATION_FACTOR) + logits, 0.0
    return row * ACTIVATION_FACTOR * layers + logits, 0.0
