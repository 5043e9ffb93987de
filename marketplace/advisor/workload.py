"""Description of a workload by a renter, the bounds of its figures, and contradictions between them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from common.errors import FieldError, InvalidInput


class Task(StrEnum):
    TRAIN = "train"
    FINETUNE = "finetune"
    LORA = "lora"
    INFER = "infer"


class Family(StrEnum):
    LANGUAGE = "language"  # a transformer that generates text
    ENCODER = "encoder"  # a transformer that reads text, such as BERT
    VISION = "vision"  # a convolutional network, such as ResNet
    DIFFUSION = "diffusion"  # generates images, such as Stable Diffusion


class Precision(StrEnum):
    FP32 = "fp32"
    FP16 = "fp16"  # or BF16, which needs the same memory
    INT8 = "int8"
    INT4 = "int4"


@dataclass(frozen=True)
class Workload:
    """Workload.

    `batch` is what all GPUs process in one step together. `items` is one pass: tokens of text, else images; 0 is
    unknown. `layers` and `hidden` (width) are of a transformer; 0 lets them be estimated. `kv_share` is the share
    of attention heads that keep keys and values of their own (grouped-query attention), in per cent.
    """

    task: Task = Task.FINETUNE
    family: Family = Family.LANGUAGE
    parameters: int = 7_000_000_000
    precision: Precision = Precision.FP16
    batch: int = 1
    sequence: int = 2048
    pixels: int = 512
    layers: int = 0
    hidden: int = 0
    kv_share: int = 100
    recompute: bool = True
    items: int = 0
    epochs: int = 1
    dataset_gb: int = 0
    deadline_hours: float | None = None

    @property
    def is_text(self) -> bool:
        return self.family in (Family.LANGUAGE, Family.ENCODER)

    @property
    def trains(self) -> bool:
        return self.task != Task.INFER


# Smallest and largest value of each figure, for forms and the API alike.
BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "parameters": (100_000, 10_000_000_000_000),
    "batch": (1, 100_000),
    "sequence": (1, 2_000_000),
    "pixels": (16, 8192),
    "layers": (0, 1000),
    "hidden": (0, 100_000),
    "kv_share": (1, 100),
    "items": (0, 10**16),
    "epochs": (1, 10_000),
    "dataset_gb": (0, 1_000_000),
}
LEAST_DEADLINE_HOURS: Final = 0.01
MOST_DEADLINE_HOURS: Final = 87_600.0

_LAWFUL: Final[Mapping[Task, frozenset[Precision]]] = {
    Task.TRAIN: frozenset({Precision.FP32, Precision.FP16}),
    Task.FINETUNE: frozenset({Precision.FP32, Precision.FP16}),
    Task.LORA: frozenset(Precision),
    Task.INFER: frozenset(Precision),
}


def check_workload(work: Workload) -> None:
    """Refuse figures out of bounds and requirements that contradict each other.

    Raises:
        InvalidInput: a figure is wrong; the error names each one.
    """
    wrong = [
        FieldError(name, "out_of_range", f"{name} must be from {least} to {most}.")
        for name, (least, most) in BOUNDS.items()
        if not least <= getattr(work, name) <= most
    ]
    if work.deadline_hours is not None and not LEAST_DEADLINE_HOURS <= work.deadline_hours <= MOST_DEADLINE_HOURS:
        bounds = f"{LEAST_DEADLINE_HOURS} to {MOST_DEADLINE_HOURS:.0f}"
        wrong.append(FieldError("deadline_hours", "out_of_range", f"deadline_hours must be from {bounds}."))
    if work.precision not in _LAWFUL[work.task]:
        hint = f"To {work.task.value} takes fp32 or fp16; int8 and int4 are for lora and infer."
        wrong.append(FieldError("precision", "unsupported", hint))
    if work.task == Task.LORA and work.family == Family.VISION:
        wrong.append(FieldError("task", "unsupported", "LoRA adapts transformers and diffusion models: use finetune."))
    if work.deadline_hours is not None and not work.items:
        wrong.append(FieldError("items", "required", "A deadline needs the amount of work: tokens or images of one pass."))
    if wrong:
        raise InvalidInput("The workload is contradictory or out of range.", errors=wrong)


_BERT: Final = Workload(
    task=Task.FINETUNE, family=Family.ENCODER, parameters=110_000_000, batch=32, sequence=128, layers=12, hidden=768,
    recompute=False, items=50_000_000, epochs=3, dataset_gb=1,
)  # fmt: skip
_LLAMA_7B: Final = Workload(task=Task.INFER, parameters=6_740_000_000, batch=2, sequence=4096, layers=32, hidden=4096)
PRESETS: Final[Mapping[str, Workload]] = {
    "bert-base": _BERT,
    "chat-7b": _LLAMA_7B,
    "qlora-7b": replace(
        _LLAMA_7B, task=Task.LORA, precision=Precision.INT4, batch=4, sequence=2048, items=20_000_000, epochs=3, dataset_gb=1
    ),
    "lora-13b": Workload(
        task=Task.LORA, parameters=13_000_000_000, batch=4, layers=40, hidden=5120, items=20_000_000, epochs=3, dataset_gb=1
    ),
    "finetune-7b": replace(_LLAMA_7B, task=Task.FINETUNE, batch=8, sequence=2048, items=50_000_000, dataset_gb=2),
    "chat-70b": Workload(
        task=Task.INFER, parameters=70_000_000_000, batch=8, sequence=8192, layers=80, hidden=8192, kv_share=13
    ),
    "resnet-50": Workload(
        task=Task.TRAIN,
        family=Family.VISION,
        parameters=25_600_000,
        batch=256,
        pixels=224,
        items=1_280_000,
        epochs=90,
        dataset_gb=150,
        deadline_hours=24,
    ),
    "stable-diffusion": Workload(
        task=Task.INFER, family=Family.DIFFUSION, parameters=1_070_000_000, batch=4, pixels=512, items=10_000
    ),
    "sdxl-lora": Workload(
        task=Task.LORA,
        family=Family.DIFFUSION,
        parameters=3_500_000_000,
        batch=1,
        pixels=1024,
        items=2_000,
        epochs=20,
        dataset_gb=5,
    ),
}
