"""GPU models that the market knows, with where each figure comes from, and how the names that drivers give are recognised.

Sources: S, the project's source documents (rental guides); D, makers' data sheets, dense rates. A figure that no source
gives is None; "~" in a source is `fp16_approximate`.
"""

import re
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class GpuModel:
    """`vram_gb` lists the sizes that it was built with; rates are TFLOPS, FP16 on tensor cores where there are any."""

    slug: str
    name: str
    series: str
    architecture: str
    vram_gb: tuple[int, ...] = ()
    fp32_tflops: float | None = None
    fp16_tflops: float | None = None
    fp16_approximate: bool = False
    cuda_min: str = ""
    note: str = ""
    source: str = ""
    vendor: str = "NVIDIA"
    known: bool = True


# Model | series | architecture | VRAM GB | FP32 | FP16 (~ approximate) | needs CUDA | source | note
_TABLE = """
TITAN Xp    | GeForce    | Pascal    | 12    | 12.15 | 12.15 | 8    | S | old; fine to start with
GTX 1080 Ti | GeForce    | Pascal    | 11    | 11.34 | 11.34 | 8    | S | as TITAN Xp; 11 GB is tight at times
RTX 2080 Ti | GeForce    | Turing    | 11    | 13.45 | 53.8  | 10   | S | good value for mixed precision
V100        | Tesla      | Volta     | 16/32 | 15.7  | 125   | 9    | S | former flagship, strong FP16
RTX 3060    | GeForce    | Ampere    | 12    | 12.74 | ~24   | 11   | S | for beginners whose model just misses 11 GB
RTX A4000   | NVIDIA RTX | Ampere    | 16    | 19.17 | ~76   | 11   | S | balanced
RTX 3080 Ti | GeForce    | Ampere    | 12    | 34.10 | ~70   | 11   | S | fast where VRAM is enough
RTX A5000   | NVIDIA RTX | Ampere    | 24    | 27.77 | ~117  | 11   | S | strong FP16
RTX 3090    | GeForce    | Ampere    | 24    | 35.58 | ~71   | 11   | S | best value, fits most work
A40         | Tesla      | Ampere    | 48    | 37.42 | 149.7 | 11   | S | a 3090 with twice the memory
A100        | Tesla      | Ampere    | 40/80 | 19.5  | 312   | 11   | S | NVLink, scales well over cards
RTX 4090    | GeForce    | Ada       | 24    | 82.6  | 165   | 11.8 | D |
RTX 5090    | GeForce    | Blackwell | 32    | 104.8 | 210   | 12.8 | D |
L4          | Tesla      | Ada       | 24    | 30.3  | 121   | 11.8 | D | low power, inference
L40S        | Tesla      | Ada       | 48    | 91.6  | 362   | 11.8 | D |
T4          | Tesla      | Turing    | 16    | 8.1   | 65    | 10   | D | low-latency inference
A10         | Tesla      | Ampere    | 24    | 31.2  | 125   | 11   | D |
A30         | Tesla      | Ampere    | 24    | 10.3  | 165   | 11   | D |
RTX A6000   | NVIDIA RTX | Ampere    | 48    | 38.7  | 155   | 11   | D |
P100        | Tesla      | Pascal    | 16    | 9.3   | 18.7  | 8    | D |
P40         | Tesla      | Pascal    | 24    | 11.8  | –     | 8    | D |
H100 SXM    | Tesla      | Hopper    | 80    | 67    | 989   | 11.8 | D | NVLink 900 GB/s
H100 PCIe   | Tesla      | Hopper    | 80    | 51    | 756   | 11.8 | D | cheaper than SXM
H200        | Tesla      | Hopper    | 141   | 67    | 989   | 11.8 | D |
B200        | Tesla      | Blackwell | 192   | 75    | 2250  | 12.8 | D |
"""


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _read_row(row: str) -> GpuModel:
    name, series, architecture, vram, fp32, fp16, cuda, source, note = (cell.strip() for cell in row.split("|"))
    return GpuModel(
        slug=_slug(name),
        name=name,
        series=series,
        architecture=architecture,
        vram_gb=tuple(map(int, vram.split("/"))),
        fp32_tflops=float(fp32),
        fp16_tflops=None if fp16 == "–" else float(fp16.removeprefix("~")),
        fp16_approximate=fp16.startswith("~"),
        cuda_min=cuda,
        note=note,
        source=source,
    )


# Models without figures in our sources, by series and architecture.
_NAMED: dict[tuple[str, str], tuple[str, ...]] = {
    ("Quadro", "Turing"): tuple(f"Quadro RTX {number}" for number in (3000, 4000, 5000, 6000, 8000)),
    ("NVIDIA RTX", "Ampere"): ("RTX A2000", "RTX A4500"),
    ("GeForce", "Pascal"): ("GTX 1050", "GTX 1050 Ti", "GTX 1060", "GTX 1070", "GTX 1070 Ti", "GTX 1080"),
    ("GeForce", "Turing"): (
        *("GTX 1650", "GTX 1650 Super", "GTX 1660", "GTX 1660 Super", "GTX 1660 Ti"),
        *("RTX 2060", "RTX 2060 Super", "RTX 2070", "RTX 2070 Super", "RTX 2080", "RTX 2080 Super"),
    ),
    ("GeForce", "Ampere"): ("RTX 3050", "RTX 3060 Ti", "RTX 3070", "RTX 3070 Ti", "RTX 3080", "RTX 3090 Ti"),
    ("Tesla", "Ampere"): ("A16",),
    ("Tesla", "Pascal"): ("P4", "P6"),
    ("Tesla", "Kepler"): (
        *("K8", "K10", "K20c", "K20s", "K20m", "K20Xm", "K40t", "K40st", "K40s", "K40m", "K40c", "K520", "K80"),
    ),
}
_OTHER_VENDORS = (
    GpuModel(
        *("mlu-200", "MLU 200 series", "MLU", "Cambricon", ()),
        note="inference only, int8 quantised, its own framework build",
        source="S",
        vendor="Cambricon",
    ),
    GpuModel(
        *("ascend-910", "Ascend 910", "Ascend", "Da Vinci", ()),
        note="training and inference through MindSpore",
        source="S",
        vendor="Huawei",
    ),
)

MODELS: tuple[GpuModel, ...] = (
    *(_read_row(row) for row in _TABLE.strip().splitlines()),
    *(GpuModel(_slug(name), name, *family, source="S") for family, names in _NAMED.items() for name in names),
    *_OTHER_VENDORS,
)
_BY_SLUG = {model.slug: model for model in MODELS}

# Words of a driver's name that tell maker, form or memory size, not the model.
_MAKER = re.compile(r"\b(nvidia|geforce|tesla|grid|corporation)\b")
_FORM = re.compile(r"\b(sxm\d?|pcie|hbm\d?\w?|\d+gb|collectors edition)\b")
_H100 = "h100"
_TOLERANCE = 0.15
_SLUG_SIZE = 60


@lru_cache(maxsize=4096)
def recognise(nvml_name: str) -> GpuModel:
    """The model behind a name such as "NVIDIA A100-SXM4-80GB" or "RTX 4090".

    Only exact models match: an RTX 4090 D or a laptop's RTX 3080 Ti is another device and gets a slug of its own.
    """
    bare = _words(_MAKER.sub(" ", nvml_name.lower()))
    core = _words(_FORM.sub(" ", bare))
    if core == _H100:
        return _BY_SLUG["h100-pcie" if "pcie" in bare.split() else "h100-sxm"]
    model = _BY_SLUG.get(_slug(bare)) or _BY_SLUG.get(_slug(core))
    if model is not None and model.vendor == "NVIDIA":
        return model
    return _unknown(_slug(bare)[:_SLUG_SIZE].strip("-") or "unknown", _cleaned(nvml_name))


def by_slug(slug: str) -> GpuModel:
    """The model with this slug; one that the catalogue does not know is named after its slug."""
    return _BY_SLUG.get(slug) or _unknown(slug, slug.replace("-", " ").upper())


def nominal_vram_gb(slug: str, vram_mb: int) -> int:
    """The size that the model is sold with. Drivers keep up to a tenth back (error correction): 23028 MiB is a 24 GB A10."""
    measured = vram_mb / 1024
    sizes = [size for size in by_slug(slug).vram_gb if abs(size - measured) <= _TOLERANCE * size]
    return min(sizes, key=lambda size: abs(size - measured)) if sizes else round(measured)


def _words(text: str) -> str:
    return " ".join(re.sub(r"[-_/()]", " ", text).split())


def _cleaned(name: str) -> str:
    return " ".join(name.split()).removeprefix("NVIDIA ") or "unknown"


def _unknown(slug: str, name: str) -> GpuModel:
    return GpuModel(slug, name, series="", architecture="", known=False)
