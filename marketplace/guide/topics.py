"""Pages of the GPU guide: titles, and the sources of each."""

from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from marketplace.advisor.references import Source, sources_of


@dataclass(frozen=True)
class Topic:
    """One page; its text is templates/guide/<language>/<slug>.html."""

    slug: str
    title: str | Promise
    summary: str | Promise
    symbol: str
    sources: tuple[Source, ...]


TOPICS: Final = (
    Topic(
        "gpus",
        _("GPU ranking"),
        _("Every model with its specs and current price."),
        "cpu-2",
        sources_of("sheets", "guides"),
    ),
    Topic(
        "series",
        _("Series"),
        _("GeForce, NVIDIA RTX, Tesla: what the names mean."),
        "stack-2",
        sources_of("sheets", "guides"),
    ),
    Topic(
        "architectures",
        _("Architectures"),
        _("From Kepler to Blackwell: what each added."),
        "chart-line",
        sources_of("sheets", "cuda", "mixed", "fp8"),
    ),
    Topic(
        "how-many",
        _("How many GPUs"),
        _("One, two, four, eight: when more GPUs help."),
        "server-2",
        sources_of("guides", "zero", "megatron", "kaplan"),
    ),
    Topic(
        "precision",
        _("Precision"),
        _("FP32, TF32, FP16, BF16, FP8, INT8, INT4."),
        "adjustments-horizontal",
        sources_of("mixed", "fp8", "qlora", "sheets"),
    ),
    Topic("cpu", _("CPU"), _("Enough cores to keep the GPU busy."), "cpu", sources_of("guides", "pytorch")),
    Topic(
        "ram",
        _("Memory of the host"),
        _("How much you need, and what happens when it runs out."),
        "database",
        sources_of("guides", "pytorch"),
    ),
    Topic("disk", _("Disk"), _("NVMe, SSD, HDD, and where to keep data."), "box", sources_of("guides", "pytorch")),
    Topic(
        "links",
        _("Network, NVLink and PCIe"),
        _("How GPUs and hosts communicate, and when it matters."),
        "network",
        sources_of("sheets", "pcie", "megatron"),
    ),
    Topic("cuda", _("CUDA and drivers"), _("Which image runs on which host."), "code", sources_of("cuda", "guides")),
    Topic(
        "spot",
        _("Spot and checkpoints"),
        _("Cheaper GPUs that can be interrupted, and how to prepare."),
        "hourglass",
        sources_of("guides", "young"),
    ),
)
