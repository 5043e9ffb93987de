"""Explanations of the advice: each step's result, reason, formula with its figures, and source."""

from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _

from common.sentence_gaps import gap
from marketplace.advisor.candidate_plans import Plan, architectures_for, wants_nvlink
from marketplace.advisor.compute import UTILISATION, efficiency, forward_flops, generates_text, network_passes, total_flops
from marketplace.advisor.formatting import format_flop, format_hours, format_number, in_gb
from marketplace.advisor.machine_types import CHECKPOINTS, DISK_KINDS, ENVIRONMENT_GB, LOAD_SECONDS, Machine
from marketplace.advisor.memory import (
    CONTEXT_BYTES,
    DIFFUSION_INFER,
    DIFFUSION_PIXELS,
    DIFFUSION_RECOMPUTED,
    DIFFUSION_TRAIN,
    INFERENCE_FACTOR,
    LOGIT_BYTES,
    LORA_SHARE,
    SLACK,
    TRAINED_BYTES,
    VISION_INFER,
    VISION_PARAMETERS,
    VISION_PIXELS,
    VISION_TRAIN,
    VOCABULARY,
    WEIGHT_BYTES,
    Memory,
    memory_of,
    transformer_shape,
    value_bytes,
)
from marketplace.advisor.references import Source, sources_of
from marketplace.advisor.workload import BOUNDS, Family, Precision, Task, Workload

_DAY: Final = 24


@dataclass(frozen=True)
class Step:
    """One step of the advice; `topic` is stable, the texts are in the language that was active."""

    topic: str
    title: str
    result: str
    reason: str
    formula: str
    sources: tuple[Source, ...]


def steps_of(work: Workload, plan: Plan, machine: Machine) -> tuple[Step, ...]:
    memory = memory_of(work)
    steps = [
        _weights(work, memory),
        _training(work, memory) if work.trains else None,
        _cache(work, memory) if memory.cache else None,
        _activations(work, memory),
        _gpus(work, memory, plan),
        _precision(work),
        _time(work, plan) if work.items else None,
        _cpu(work, plan, machine),
        _ram(plan, machine),
        _disk(work, machine),
        _links(work, plan) if plan.gpu_count > 1 else None,
    ]
    return tuple(step for step in steps if step is not None)


def _weights(work: Workload, memory: Memory) -> Step:
    each = WEIGHT_BYTES[work.precision]
    return Step(
        "weights",
        _("Weights"),
        in_gb(memory.weights),
        _("Every parameter is stored in GPU memory in %(precision)s: %(bytes)s bytes each.")
        % {"precision": work.precision.upper(), "bytes": f"{each:g}"},
        f"{format_number(work.parameters)} × {each:g} B = {in_gb(memory.weights)}",
        sources_of(*(["qlora"] if work.precision == Precision.INT4 else ["mixed"])),
    )


def _training(work: Workload, memory: Memory) -> Step:
    if work.task == Task.LORA:
        trained = work.parameters * LORA_SHARE
        return Step(
            "training",
            _("Adapters with their gradients and optimizer"),
            in_gb(memory.training),
            _("LoRA freezes the weights and trains small additional matrices: about 0.5% of the parameters."),
            f"{LORA_SHARE:.1%} × {format_number(work.parameters)} × {TRAINED_BYTES:g} B"
            f" = {format_number(trained)} × {TRAINED_BYTES:g} B = {in_gb(memory.training)}",
            sources_of("lora", "zero"),
        )
    more = TRAINED_BYTES - WEIGHT_BYTES[work.precision]
    reason = (
        _(
            "Adam keeps two moments per parameter, mixed precision an FP32 copy, and the backward pass a "
            "gradient: 2 + 4 + 8 bytes."
        )
        if work.precision == Precision.FP16
        else _("Adam keeps two moments per parameter, and the backward pass a gradient: 4 + 8 bytes.")
    )
    formula = f"{format_number(work.parameters)} × {more:g} B = {in_gb(memory.training)}"
    return Step(
        "training", _("Gradients and optimizer"), in_gb(memory.training), reason, formula, sources_of("zero", "mixed")
    )


def _cache(work: Workload, memory: Memory) -> Step:
    layers, hidden = transformer_shape(work)
    share = f" × {work.kv_share}%" if work.kv_share < BOUNDS["kv_share"][1] else ""
    return Step(
        "cache",
        _("Key-value cache"),
        in_gb(memory.cache),
        _("To avoid recomputing earlier tokens, each layer keeps a key and a value for every token of every conversation."),
        f"2 × {value_bytes(work):g} B × {layers:.0f} L × {hidden:.0f} h{share} × {work.sequence} × {work.batch}"
        f" = {in_gb(memory.cache)}",
        sources_of("pope", "vllm", "gqa"),
    )


def _activations(work: Workload, memory: Memory) -> Step:
    keys = {Family.VISION: ("regnet", "examples"), Family.DIFFUSION: ("diffusers", "diffusion")}
    return Step(
        "activations",
        _("Activations"),
        in_gb(memory.activations),
        _activation_reason(work),
        f"{_activation_formula(work)} = {in_gb(memory.activations)}",
        sources_of(*keys.get(work.family, ("korthikanti", "flash"))),
    )


def _activation_formula(work: Workload) -> str:
    wide = " × 2" if work.precision == Precision.FP32 else ""
    batch = f" × {work.batch}" if work.batch > 1 else ""
    if work.family == Family.VISION:
        image = VISION_TRAIN if work.trains else VISION_INFER
        scale = (
            f"√({format_number(work.parameters)} ÷ {format_number(VISION_PARAMETERS)}) × ({work.pixels} ÷ {VISION_PIXELS})²"
        )
        return f"{image / 1e6:g} MB × {scale}{wide}{batch}"
    if work.family == Family.DIFFUSION:
        kept = DIFFUSION_RECOMPUTED if work.recompute else DIFFUSION_TRAIN
        return f"{in_gb(kept if work.trains else DIFFUSION_INFER)} × ({work.pixels} ÷ {DIFFUSION_PIXELS})²{wide}{batch}"
    layers, hidden = transformer_shape(work)
    if not work.trains:
        return f"{INFERENCE_FACTOR:g} B × {work.sequence} s × {hidden:.0f} h{wide}"
    factor = f"(2 × {layers:.0f} L + 34)" if work.recompute else f"34 × {layers:.0f} L"
    logits = f" + {LOGIT_BYTES:g} B × {work.sequence} × {VOCABULARY}" if work.family == Family.LANGUAGE else ""
    each = f"{factor} × {work.sequence} s × {hidden:.0f} h{wide}{logits}"
    return f"({each}){batch}" if batch and logits else f"{each}{batch}"


def _activation_reason(work: Workload) -> str:
    if not work.trains:
        return _("Without a backward pass, only the current layer's values are kept.")
    if work.family == Family.VISION:
        return _(
            "The backward pass needs every layer's output: 60 MB per image for ResNet-50 at 224², growing "
            "with the square root of model size."
        )
    if work.family == Family.DIFFUSION:
        return _(
            "The backward pass needs every layer's output. Recomputing them takes a third of the memory and "
            "a third more time."
        )
    if work.recompute:
        return _("Only each layer's input is kept, 2·s·h bytes; the other 34·s·h bytes are recomputed layer by layer.")
    return _("The backward pass needs each layer's intermediate values: 34·s·h bytes per sample (s tokens, width h).")


def _gpus(work: Workload, memory: Memory, plan: Plan) -> Step:
    count = plan.gpu_count
    shared = memory.states + memory.cache
    divided = f"{in_gb(shared)} ÷ {count}" if count > 1 else in_gb(shared)
    each = f"{divided} + {in_gb(memory.per_gpu(count) - shared / count)} = {plan.vram_gb} GB"
    reason = _("One GPU is enough, including %(context)s for CUDA itself and %(slack)s for fragmentation.")
    if count > 1:
        reason = _(
            "The model states and the batch are split across the GPUs; each also needs %(context)s for CUDA "
            "and %(slack)s for fragmentation."
        )
    return Step(
        "gpus",
        _("GPUs and their memory"),
        _("%(count)s × at least %(vram)s GB (%(card)s GB cards)")
        % {"count": count, "vram": plan.vram_gb, "card": plan.card_gb},
        reason % {"context": in_gb(CONTEXT_BYTES), "slack": f"{SLACK:.0%}"},
        each,
        sources_of("zero", "sheets") if work.trains else sources_of("pope", "sheets"),
    )


def _precision(work: Workload) -> Step:
    first = architectures_for(work.precision)[0]
    reasons = {
        Precision.FP32: _("Current frameworks support Pascal and later."),
        Precision.FP16: _(
            "FP16 is fast on tensor cores (Volta and later); BF16, which doesn't overflow, needs Ampere or later."
        ),
        Precision.INT8: _("8-bit kernels need Turing or later."),
        Precision.INT4: _("4-bit kernels need Turing or later; they multiply in 16 bits."),
    }
    return Step(
        "precision",
        _("Architecture"),
        _("%(architecture)s or later") % {"architecture": first},
        reasons[work.precision],
        f"{work.precision.upper()} → {', '.join(architectures_for(work.precision))}",
        sources_of("mixed", "cuda"),
    )


def _time(work: Workload, plan: Plan) -> Step:
    low, high = plan.hours or (0.0, 0.0)
    fastest = plan.fits[0].model.name
    result = _("%(low)s on %(fastest)s") % {"low": format_hours(low), "fastest": fastest}
    if high > low:
        result = _("%(low)s on %(fastest)s, up to %(high)s on the slowest suitable GPU") % {
            "low": format_hours(low), "fastest": fastest, "high": format_hours(high)}  # fmt: skip
    if generates_text(work):
        reason = _(
            "Each step generates one token per conversation and reads all weights and the cache, so memory "
            "bandwidth sets the speed."
        )
        formula = f"{format_number(work.items)} ÷ ({work.batch} ÷ (bytes ÷ (70% × GB/s)) × {plan.gpu_count})"
        return Step("time", _("Time"), result, reason, formula, sources_of("pope", "sheets"))
    per_item = forward_flops(work) * network_passes(work)
    rounds = f" × {work.epochs}" if work.trains and work.epochs > 1 else ""
    formula = (
        f"{format_flop(per_item)} × {format_number(work.items)}{rounds} = {format_flop(total_flops(work))}"
        f" ÷ ({plan.gpu_count} × TFLOPS × {UTILISATION[work.family]:.0%} × {efficiency(plan.gpu_count):.0%})"
    )
    keys = {Family.VISION: ("resnet", "examples"), Family.DIFFUSION: ("diffusion", "sheets")}
    sources = sources_of(*keys.get(work.family, ("kaplan", "palm", "megatron")))
    return Step("time", _("Time"), result, _time_reason(work, high), formula, sources)


def _time_reason(work: Workload, slowest: float) -> str:
    reasons = {
        Task.TRAIN: _(
            "A forward pass takes 2 FLOPs per parameter and token, the backward pass twice that: 6 in all, 8 "
            "with recomputation."
        ),
        Task.FINETUNE: _(
            "A forward pass takes 2 FLOPs per parameter and token, the backward pass twice that: 6 in all, 8 "
            "with recomputation."
        ),
        Task.LORA: _(
            "The backward pass runs through the frozen weights but computes no gradients for them: 4 FLOPs, "
            "6 with recomputation."
        ),
        Task.INFER: _("A forward pass takes 2 FLOPs per parameter and token."),
    }
    reason = reasons[work.task]
    if not work.is_text:
        reason = _(
            "FLOPs per image: one forward pass, and twice that for the backward pass. Stable Diffusion takes "
            "30 steps of two passes per image."
        )
    if work.trains and slowest > _DAY:
        reason += " " + _(
            "A run that takes less than a day can be repeated after a mistake, so it pays to use more or faster GPUs."
        )
    return reason


def _cpu(work: Workload, plan: Plan, machine: Machine) -> Step:
    return Step(
        "cpu",
        _("CPU"),
        _("%(cores)s cores for each GPU") % {"cores": machine.cpu_cores},
        _(
            "Data loader workers decode and shuffle while the GPU computes: 4 to 8 cores per GPU, no more "
            "workers than cores."
        ),
        f"{machine.cpu_cores} × {plan.gpu_count} = {machine.cpu_cores * plan.gpu_count}",
        sources_of("guides", "pytorch"),
    )


def _ram(plan: Plan, machine: Machine) -> Step:
    reason = _(
        "At least as much as the GPUs' memory, since weights are loaded through it. A container above its limit is killed."
    )
    if not machine.data_in_ram:
        reason += " " + _("The dataset doesn't fit in memory, so each pass reads it from disk again.")
    return Step(
        "ram",
        _("Memory of the host"),
        _("%(ram)s GB for each GPU") % {"ram": machine.ram_gb},
        reason,
        f"max({plan.card_gb} GB, 1.2 × {machine.weights_gb:.3g} GB ÷ {plan.gpu_count}) × {plan.gpu_count}"
        f" = {machine.ram_gb * plan.gpu_count} GB",
        sources_of("guides"),
    )


def _disk(work: Workload, machine: Machine) -> Step:
    kinds = {"nvme": "NVMe", "ssd": _("SSD or NVMe"), "hdd": _("any disk type")}
    reasons = [
        _("Space for data, weights, %(copies)s checkpoints and the environment; weights should load in %(seconds)s s.")
        % {"copies": CHECKPOINTS if work.trains else 0, "seconds": LOAD_SECONDS}
        if work.trains
        else _("Space for weights and the environment; weights should load in %(seconds)s s.") % {"seconds": LOAD_SECONDS}
    ]
    if machine.stream_mbps is not None:
        speed = f"{machine.stream_mbps:,.0f}"
        reasons.append(_("To finish in time, data must be read at %(speed)s MB/s.") % {"speed": speed})
    reasons.append(_("Train from the local data disk, and keep cold data elsewhere."))
    return Step(
        "disk",
        _("Disk"),
        _("%(size)s GB, %(kind)s, at least %(speed)s MB/s")
        % {"size": machine.disk_gb, "kind": kinds[machine.disk_kinds[0]], "speed": machine.disk_mbps},
        gap().join(reasons),
        _disk_formula(work, machine),
        sources_of("guides", "zero"),
    )


def _disk_formula(work: Workload, machine: Machine) -> str:
    parts = [
        f"1.2 × {work.dataset_gb}" if work.dataset_gb else "",
        f"{machine.weights_gb:.3g}",
        f"{CHECKPOINTS} × {machine.checkpoint_gb:.3g}" if machine.checkpoint_gb else "",
        str(ENVIRONMENT_GB),
    ]
    kinds = ", ".join(f"{kind.upper()} ≥ {speed} MB/s" for kind, speed in DISK_KINDS.items())
    return f"{' + '.join(part for part in parts if part)} = {machine.disk_gb} GB; {kinds}"


def _links(work: Workload, plan: Plan) -> Step:
    if wants_nvlink(work, plan.gpu_count):
        result = _("NVLink recommended")
        reason = _("The GPUs exchange gradients or layer slices in every step: NVLink provides 300–1800 GB/s, PCIe 4.0 64.")
    else:
        result = _("PCIe is enough")
        reason = _("PCIe is fast enough for the data that GPUs exchange for a model of this size.")
    return Step("links", _("Links between GPUs"), result, reason, "", sources_of("megatron", "pcie"))
