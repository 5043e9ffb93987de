"""Papers and vendors' documents behind the guide and the advisor, so that readers can check each rule."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True)
class Source:
    """A cited document.

    `text` is the full citation, `short` is for narrow places; `url` is set where it has a lasting address.
    """

    key: str
    short: str | Promise
    text: str | Promise
    url: str = ""


def _paper(key: str, text: str, number: str) -> Source:
    """Return a source from "authors, title, year"."""
    short = f"{text.partition(', ')[0]} {text.rpartition(', ')[2]}"
    return Source(key, short, f"{text}, arXiv:{number}", f"https://arxiv.org/abs/{number}")


SOURCES: Final[Mapping[str, Source]] = {
    source.key: source
    for source in (
        _paper("kaplan", "Kaplan et al., Scaling Laws for Neural Language Models, 2020", "2001.08361"),
        _paper("hoffmann", "Hoffmann et al., Training Compute-Optimal Large Language Models, 2022", "2203.15556"),
        _paper(
            "zero",
            "Rajbhandari et al., ZeRO: Memory Optimizations Toward Training Trillion Parameter Models, 2020",
            "1910.02054",
        ),
        _paper(
            "korthikanti",
            "Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models, 2022",
            "2205.05198",
        ),
        _paper("flash", "Dao et al., FlashAttention, 2022", "2205.14135"),
        _paper("lora", "Hu et al., LoRA: Low-Rank Adaptation of Large Language Models, 2021", "2106.09685"),
        _paper("qlora", "Dettmers et al., QLoRA: Efficient Finetuning of Quantized LLMs, 2023", "2305.14314"),
        _paper("mixed", "Micikevicius et al., Mixed Precision Training, 2018", "1710.03740"),
        _paper("fp8", "Micikevicius et al., FP8 Formats for Deep Learning, 2022", "2209.05433"),
        _paper("palm", "Chowdhery et al., PaLM (defines model FLOPs utilisation), 2022", "2204.02311"),
        _paper(
            "megatron", "Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, 2021", "2104.04473"
        ),
        _paper("pope", "Pope et al., Efficiently Scaling Transformer Inference, 2022", "2211.05102"),
        _paper("vllm", "Kwon et al., Efficient Memory Management for Large Language Model Serving, 2023", "2309.06180"),
        _paper("gqa", "Ainslie et al., GQA: Training Generalized Multi-Query Transformer Models, 2023", "2305.13245"),
        _paper("gpt3", "Brown et al., Language Models are Few-Shot Learners, 2020", "2005.14165"),
        _paper("bert", "Devlin et al., BERT, 2018", "1810.04805"),
        _paper("resnet", "He et al., Deep Residual Learning for Image Recognition, 2015", "1512.03385"),
        _paper("regnet", "Radosavovic et al., Designing Network Design Spaces, 2020", "2003.13678"),
        _paper(
            "diffusion", "Rombach et al., High-Resolution Image Synthesis with Latent Diffusion Models, 2022", "2112.10752"
        ),
        Source(
            "young", "Young 1974", "Young, A first order approximation to the optimum checkpoint interval, CACM 17(9), 1974"
        ),
        Source("sheets", _("NVIDIA data sheets"), _("NVIDIA: data sheets and architecture white papers of each GPU")),
        Source(
            "cuda",
            "NVIDIA, CUDA documentation",
            "NVIDIA, CUDA Toolkit release notes and CUDA compatibility guide",
            "https://docs.nvidia.com/cuda/",
        ),
        Source(
            "pytorch",
            "PyTorch documentation",
            "PyTorch, documentation: torch.utils.data, automatic mixed precision",
            "https://pytorch.org/docs/stable/",
        ),
        Source(
            "diffusers",
            "Diffusers documentation",
            "Hugging Face, Diffusers documentation: training and memory",
            "https://huggingface.co/docs/diffusers",
        ),
        Source(
            "examples",
            "NVIDIA DeepLearningExamples",
            "NVIDIA, DeepLearningExamples: ResNet-50 v1.5 in PyTorch, batch sizes by memory",
        ),
        Source(
            "guides",
            _("Rental guides (source S)"),
            _("Rental guides collected by the project (source S of the catalog)"),
        ),
        Source("pcie", "PCI-SIG", "PCI-SIG, PCI Express base specification, revisions 3 to 5"),
    )
}


def sources_of(*keys: str) -> tuple[Source, ...]:
    return tuple(SOURCES[key] for key in keys)
