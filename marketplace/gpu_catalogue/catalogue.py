"""Known GPU models with sources of their figures, and recognition of the names that drivers report.

The figures are in `marketplace.gpu_catalogue.data`. One that no source gives is None (or empty); "~" in a source is
`fp16_approximate`.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from django.utils.functional import Promise

from marketplace.gpu_catalogue.data import NAMED, NOTES, OTHER_VENDORS, RATED

# The last CUDA release that runs on a compute capability below the first part (vendors' release notes).
_CUDA_LAST: Final = (((3, 5), "10.2"), ((5, 0), "11.8"), ((7, 5), "12.9"))
_TENSOR_CORES: Final = (7, 0)
_BF16: Final = (8, 0)
_FP8: Final = (8, 9)
_NONE: Final = "–"


@dataclass(frozen=True)
class GpuModel:
    """A GPU model.

    `vram_gb` lists the sizes that it was built with; rates are TFLOPS, FP16 on tensor cores where there are any.
    `bandwidth_gbps` (GB/s of its memory) corresponds to `vram_gb`, size by size; `power_w` is that of its largest
    form. `source` is that of rates and CUDA version: S or D, as `marketplace.gpu_catalogue.data` explains; the
    other figures are from data sheets (D).
    """

    slug: str
    name: str
    series: str
    architecture: str
    vram_gb: tuple[int, ...] = ()
    fp32_tflops: float | None = None
    fp16_tflops: float | None = None
    fp16_approximate: bool = False
    cuda_min: str = ""
    note: str | Promise = ""
    source: str = ""
    vendor: str = "NVIDIA"
    known: bool = True
    compute: str = ""
    bandwidth_gbps: tuple[int, ...] = ()
    power_w: int | None = None
    nvlink_gbps: float | None = None
    trains: bool = True

    @property
    def tflops(self) -> float | None:
        """Return the rate for work in FP16, or that of FP32 where no source gives one for FP16."""
        return self.fp16_tflops or self.fp32_tflops

    @property
    def cuda_last(self) -> str:
        """Return the last CUDA release that runs on it, or an empty text while every release does."""
        return next((last for below, last in _CUDA_LAST if self.compute and self._level < below), "")

    @property
    def has_tensor_cores(self) -> bool:
        """Return whether it has tensor cores: Volta and later, except for the GeForce GTX 16 series."""
        return bool(self.compute) and self._level >= _TENSOR_CORES and not self.name.startswith("GTX ")

    @property
    def has_bf16(self) -> bool:
        return bool(self.compute) and self._level >= _BF16

    @property
    def has_fp8(self) -> bool:
        return bool(self.compute) and self._level >= _FP8

    @property
    def _level(self) -> tuple[int, ...]:
        return tuple(map(int, self.compute.split(".")))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _number(cell: str) -> float | None:
    return None if cell == _NONE else float(cell.removeprefix("~"))


def _sizes(cell: str) -> tuple[int, ...]:
    return () if cell == _NONE else tuple(map(int, cell.split("/")))


def _read_row(row: str) -> GpuModel:
    cells = [cell.strip() for cell in row.split("|")]
    name, series, architecture, compute, vram, bandwidth, fp32, fp16, cuda, power, nvlink, source = cells
    return GpuModel(
        slug=_slug(name),
        name=name,
        series=series,
        architecture=architecture,
        vram_gb=_sizes(vram),
        fp32_tflops=_number(fp32),
        fp16_tflops=_number(fp16),
        fp16_approximate=fp16.startswith("~"),
        cuda_min=cuda,
        note=NOTES.get(_slug(name), ""),
        source=source,
        compute=compute,
        bandwidth_gbps=_sizes(bandwidth),
        power_w=None if power == _NONE else int(power),
        nvlink_gbps=_number(nvlink),
    )


MODELS: tuple[GpuModel, ...] = (
    *(_read_row(row) for row in RATED.strip().splitlines()),
    *(_read_row(row) for row in NAMED.strip().splitlines()),
    *(
        GpuModel(slug, name, series, architecture, note=NOTES[slug], source="S", vendor=vendor, trains=trains)
        for slug, name, series, architecture, vendor, trains in OTHER_VENDORS
    ),
)
_BY_SLUG = {model.slug: model for model in MODELS}

# Words in a driver's name that tell maker, form or memory size, not the model.
_MAKER = re.compile(r"\b(nvidia|geforce|tesla|grid|corporation)\b")
_FORM = re.compile(r"\b(sxm\d?|pcie|dgxs|hbm\d?\w?|\d+gb|collectors edition)\b")
_H100 = "h100"
_TOLERANCE = 0.15
_SLUG_SIZE = 60


@lru_cache(maxsize=4096)
def recognise_model(nvml_name: str) -> GpuModel:
    """Return the model behind a name such as "NVIDIA A100-SXM4-80GB" or "RTX 4090".

    Only exact models match: an RTX 4090 D or a laptop's RTX 3080 Ti is another device and gets a slug of its own.
    """
    bare = _split_punctuation(_MAKER.sub(" ", nvml_name.lower()))
    core = _split_punctuation(_FORM.sub(" ", bare))
    if core == _H100:
        return _BY_SLUG["h100-pcie" if {"pcie", "hbm2e"} & set(bare.split()) else "h100-sxm"]
    model = _BY_SLUG.get(_slug(bare)) or _BY_SLUG.get(_slug(core))
    if model is not None and model.vendor == "NVIDIA":
        return model
    return _unknown(_slug(bare)[:_SLUG_SIZE].strip("-") or "unknown", _cleaned(nvml_name))


def by_slug(slug: str) -> GpuModel:
    """Return the model with this slug; an unknown one is named after its slug."""
    return _BY_SLUG.get(slug) or _unknown(slug, slug.replace("-", " ").upper())


def nominal_vram_gb(slug: str, vram_mb: int) -> int:
    """Return the size that the model is sold with.

    Drivers report up to a tenth less (error correction): 23028 MiB is a 24 GB A10.
    """
    measured = vram_mb / 1024
    sizes = [size for size in by_slug(slug).vram_gb if abs(size - measured) <= _TOLERANCE * size]
    return min(sizes, key=lambda size: abs(size - measured)) if sizes else round(measured)


def _split_punctuation(text: str) -> str:
    return " ".join(re.sub(r"[-_/()]", " ", text).split())


def _cleaned(name: str) -> str:
    return " ".join(name.split()).removeprefix("NVIDIA ") or "unknown"


def _unknown(slug: str, name: str) -> GpuModel:
    return GpuModel(slug, name, series="", architecture="", known=False)
