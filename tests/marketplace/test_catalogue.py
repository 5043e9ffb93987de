"""Every model of the catalogue is recognised by the names that drivers give, and nothing else is mistaken for one."""

import pytest

from marketplace.catalogue import MODELS, GpuModel, by_slug, nominal_vram_gb, recognise

DRIVER_NAMES = {
    "titan-xp": ["TITAN Xp", "NVIDIA TITAN Xp", "TITAN Xp COLLECTORS EDITION"],
    "gtx-1080-ti": ["GeForce GTX 1080 Ti", "NVIDIA GeForce GTX 1080 Ti"],
    "rtx-2080-ti": ["GeForce RTX 2080 Ti", "NVIDIA GeForce RTX 2080 Ti"],
    "v100": ["Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB", "Tesla V100-PCIE-16GB", "Tesla V100-SXM3-32GB"],
    "rtx-3060": ["NVIDIA GeForce RTX 3060"],
    "rtx-a4000": ["NVIDIA RTX A4000", "RTX A4000"],
    "rtx-3080-ti": ["NVIDIA GeForce RTX 3080 Ti"],
    "rtx-a5000": ["NVIDIA RTX A5000"],
    "rtx-3090": ["GeForce RTX 3090", "NVIDIA GeForce RTX 3090"],
    "a40": ["NVIDIA A40", "A40"],
    "a100": [
        *("A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", "NVIDIA A100-PCIE-40GB", "NVIDIA A100 80GB PCIe"),
        *("A100-PCIE-40GB", "NVIDIA A100-SXM-80GB"),
    ],
    "rtx-4090": ["NVIDIA GeForce RTX 4090", "RTX 4090"],
    "rtx-5090": ["NVIDIA GeForce RTX 5090"],
    "l4": ["NVIDIA L4"],
    "l40s": ["NVIDIA L40S"],
    "t4": ["Tesla T4", "NVIDIA T4"],
    "a10": ["NVIDIA A10"],
    "a30": ["NVIDIA A30"],
    "rtx-a6000": ["NVIDIA RTX A6000", "RTX A6000"],
    "p100": ["Tesla P100-PCIE-16GB", "Tesla P100-SXM2-16GB"],
    "p40": ["Tesla P40"],
    "h100-sxm": ["NVIDIA H100 80GB HBM3", "H100 SXM", "NVIDIA H100 SXM5 80GB"],
    "h100-pcie": ["NVIDIA H100 PCIe", "H100 PCIe"],
    "h200": ["NVIDIA H200"],
    "b200": ["NVIDIA B200"],
    "quadro-rtx-6000": ["Quadro RTX 6000"],
    "rtx-a2000": ["NVIDIA RTX A2000", "NVIDIA RTX A2000 12GB"],
    "gtx-1060": ["GeForce GTX 1060 6GB", "NVIDIA GeForce GTX 1060 3GB"],
    "gtx-1660-super": ["GeForce GTX 1660 SUPER"],
    "k520": ["GRID K520"],
    "k20xm": ["Tesla K20Xm"],
    "p4": ["Tesla P4"],
}
OTHERS = [
    "NVIDIA GeForce RTX 4090 D",
    "NVIDIA GeForce RTX 3080 Ti Laptop GPU",
    "NVIDIA RTX 6000 Ada Generation",
    "NVIDIA RTX 4000 SFF Ada Generation",
    "NVIDIA H100 NVL",
    "NVIDIA A10G",
    "NVIDIA L40",
    "Quadro P400",
    "NVIDIA Graphics Device",
    "",
    "一块显卡",
]


@pytest.mark.parametrize(("slug", "name"), [(slug, name) for slug, names in DRIVER_NAMES.items() for name in names])
def test_driver_names_are_recognised(slug: str, name: str) -> None:
    assert recognise(name).slug == slug


@pytest.mark.parametrize("model", [model for model in MODELS if model.vendor == "NVIDIA"], ids=lambda model: model.slug)
def test_every_model_is_recognised_by_its_own_name(model: GpuModel) -> None:
    assert recognise(model.name) is model
    assert recognise(f"NVIDIA {model.name}") is model
    assert recognise(f"NVIDIA GeForce {model.name}") is model


@pytest.mark.parametrize("name", OTHERS)
def test_other_devices_get_a_slug_of_their_own(name: str) -> None:
    model = recognise(name)
    assert not model.known
    assert model.slug not in {known.slug for known in MODELS}
    assert 0 < len(model.slug) <= 60
    assert by_slug(model.slug).slug == model.slug


def test_the_documents_figures_are_complete() -> None:
    measured = [model for model in MODELS if model.fp32_tflops is not None]
    assert len(measured) == 25
    assert all(model.vram_gb and model.cuda_min and model.source in ("S", "D") for model in measured)
    assert [model.slug for model in measured if model.fp16_tflops is None] == ["p40"]
    assert sum(model.fp16_approximate for model in measured) == 5
    assert len({model.slug for model in MODELS}) == len(MODELS)


def test_other_vendors_are_known_with_their_limits() -> None:
    assert {model.slug: model.vendor for model in MODELS if model.vendor != "NVIDIA"} == {
        "mlu-200": "Cambricon",
        "ascend-910": "Huawei",
    }
    assert not recognise("Ascend 910").known  # today's probe is NVIDIA's


@pytest.mark.parametrize(
    ("slug", "vram_mb", "nominal"),
    [
        ("a10", 23_028, 24),
        ("t4", 15_360, 16),
        ("a100", 40_960, 40),
        ("a100", 81_920, 80),
        ("v100", 32_510, 32),
        ("h200", 143_771, 141),
        ("b200", 183_359, 192),
        ("rtx-4090", 24_564, 24),
        ("rtx-4090", 49_140, 48),  # a modified board: as measured
        ("gtx-1060", 6_144, 6),
        ("something-new", 98_304, 96),
    ],
)
def test_vram_is_told_as_the_model_is_sold(slug: str, vram_mb: int, nominal: int) -> None:
    assert nominal_vram_gb(slug, vram_mb) == nominal
