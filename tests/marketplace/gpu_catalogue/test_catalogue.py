"""Every model of the catalogue is recognised by the names that drivers give, and nothing else is mistaken for one."""

import pytest

from marketplace.gpu_catalogue.catalogue import MODELS, GpuModel, by_slug, nominal_vram_gb, recognise_model

DRIVER_NAMES = {
    "titan-xp": ["TITAN Xp", "NVIDIA TITAN Xp", "TITAN Xp COLLECTORS EDITION", "NVIDIA TITAN Xp COLLECTORS EDITION"],
    "gtx-1080-ti": ["GeForce GTX 1080 Ti", "NVIDIA GeForce GTX 1080 Ti"],
    "rtx-2080-ti": ["GeForce RTX 2080 Ti", "NVIDIA GeForce RTX 2080 Ti"],
    "v100": [
        *("Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB", "Tesla V100-PCIE-16GB", "Tesla V100-SXM3-32GB"),
        *("Tesla V100-PCIE-32GB", "Tesla V100-DGXS-16GB", "Tesla V100-DGXS-32GB"),
    ],
    "rtx-3060": ["GeForce RTX 3060", "NVIDIA GeForce RTX 3060"],
    "rtx-a4000": ["NVIDIA RTX A4000", "RTX A4000"],
    "rtx-3080-ti": ["NVIDIA GeForce RTX 3080 Ti"],
    "rtx-a5000": ["NVIDIA RTX A5000", "RTX A5000"],
    "rtx-3090": ["GeForce RTX 3090", "NVIDIA GeForce RTX 3090"],
    "a40": ["NVIDIA A40", "A40"],
    "a100": [
        *("A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", "A100-SXM-80GB", "NVIDIA A100-SXM-80GB"),
        *("A100-PCIE-40GB", "NVIDIA A100-PCIE-40GB", "NVIDIA A100 80GB PCIe"),
    ],
    "rtx-4090": ["NVIDIA GeForce RTX 4090", "RTX 4090"],
    "rtx-5090": ["NVIDIA GeForce RTX 5090"],
    "l4": ["NVIDIA L4"],
    "l40s": ["NVIDIA L40S"],
    "t4": ["Tesla T4", "NVIDIA T4"],
    "a10": ["NVIDIA A10"],
    "a30": ["NVIDIA A30"],
    "rtx-a6000": ["NVIDIA RTX A6000", "RTX A6000"],
    "p100": ["Tesla P100-PCIE-16GB", "Tesla P100-SXM2-16GB", "Tesla P100-PCIE-12GB"],
    "p40": ["Tesla P40"],
    "h100-sxm": ["NVIDIA H100 80GB HBM3", "H100 SXM", "NVIDIA H100 SXM5 80GB"],
    "h100-pcie": ["NVIDIA H100 PCIe", "H100 PCIe", "NVIDIA H100 80GB HBM2e"],
    "h200": ["NVIDIA H200"],
    "b200": ["NVIDIA B200"],
    "quadro-rtx-3000": ["Quadro RTX 3000", "NVIDIA Quadro RTX 3000"],
    "quadro-rtx-4000": ["Quadro RTX 4000", "NVIDIA Quadro RTX 4000"],
    "quadro-rtx-5000": ["Quadro RTX 5000"],
    "quadro-rtx-6000": ["Quadro RTX 6000"],
    "quadro-rtx-8000": ["Quadro RTX 8000", "NVIDIA Quadro RTX 8000"],
    "rtx-a2000": ["NVIDIA RTX A2000", "NVIDIA RTX A2000 12GB"],
    "rtx-a4500": ["NVIDIA RTX A4500"],
    "gtx-1050": ["GeForce GTX 1050"],
    "gtx-1050-ti": ["GeForce GTX 1050 Ti", "NVIDIA GeForce GTX 1050 Ti"],
    "gtx-1060": ["GeForce GTX 1060 6GB", "NVIDIA GeForce GTX 1060 3GB", "GeForce GTX 1060"],
    "gtx-1070": ["GeForce GTX 1070", "NVIDIA GeForce GTX 1070"],
    "gtx-1070-ti": ["GeForce GTX 1070 Ti"],
    "gtx-1080": ["GeForce GTX 1080", "NVIDIA GeForce GTX 1080"],
    "gtx-1650": ["GeForce GTX 1650", "NVIDIA GeForce GTX 1650"],
    "gtx-1650-super": ["GeForce GTX 1650 SUPER"],
    "gtx-1660": ["GeForce GTX 1660"],
    "gtx-1660-super": ["GeForce GTX 1660 SUPER", "NVIDIA GeForce GTX 1660 SUPER"],
    "gtx-1660-ti": ["GeForce GTX 1660 Ti"],
    "rtx-2060": ["GeForce RTX 2060", "NVIDIA GeForce RTX 2060"],
    "rtx-2060-super": ["GeForce RTX 2060 SUPER"],
    "rtx-2070": ["GeForce RTX 2070"],
    "rtx-2070-super": ["GeForce RTX 2070 SUPER", "NVIDIA GeForce RTX 2070 SUPER"],
    "rtx-2080": ["GeForce RTX 2080"],
    "rtx-2080-super": ["GeForce RTX 2080 SUPER"],
    "rtx-3050": ["NVIDIA GeForce RTX 3050"],
    "rtx-3060-ti": ["GeForce RTX 3060 Ti", "NVIDIA GeForce RTX 3060 Ti"],
    "rtx-3070": ["GeForce RTX 3070", "NVIDIA GeForce RTX 3070"],
    "rtx-3070-ti": ["NVIDIA GeForce RTX 3070 Ti"],
    "rtx-3080": ["GeForce RTX 3080", "NVIDIA GeForce RTX 3080"],
    "rtx-3090-ti": ["NVIDIA GeForce RTX 3090 Ti"],
    "a16": ["NVIDIA A16"],
    "p4": ["Tesla P4"],
    "p6": ["Tesla P6"],
    "k8": ["Tesla K8"],
    "k10": ["Tesla K10"],
    "k20c": ["Tesla K20c"],
    "k20m": ["Tesla K20m"],
    "k20s": ["Tesla K20s"],
    "k20xm": ["Tesla K20Xm"],
    "k40c": ["Tesla K40c"],
    "k40m": ["Tesla K40m"],
    "k40s": ["Tesla K40s"],
    "k40st": ["Tesla K40st"],
    "k40t": ["Tesla K40t"],
    "k520": ["GRID K520"],
    "k80": ["Tesla K80"],
}
# Devices that are not the card whose name they bear: laptops', cut-down and export boards, slices, virtual GPUs, others.
OTHERS = [
    *("NVIDIA GeForce RTX 4090 D", "NVIDIA GeForce RTX 5090 D", "NVIDIA GeForce RTX 4090 Laptop GPU"),
    *("NVIDIA GeForce RTX 3080 Ti Laptop GPU", "NVIDIA GeForce RTX 3060 Laptop GPU", "NVIDIA RTX A5000 Laptop GPU"),
    *("GeForce GTX 1080 with Max-Q Design", "GeForce RTX 2080 with Max-Q Design", "Quadro RTX 3000 with Max-Q Design"),
    *("Quadro RTX 5000 with Max-Q Design", "GeForce GTX 1660 Ti with Max-Q Design", "NVIDIA RTX A2000 8GB Laptop GPU"),
    *(
        "GeForce RTX 2080 Super with Max-Q Design",
        "GeForce GTX 1060 with Max-Q Design",
        "GeForce GTX 1050 Ti with Max-Q Design",
    ),
    *("NVIDIA RTX 6000 Ada Generation", "NVIDIA RTX 4000 SFF Ada Generation", "NVIDIA RTX 5000 Ada Generation"),
    *("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "NVIDIA RTX A5500", "NVIDIA TITAN RTX", "NVIDIA TITAN V"),
    *("NVIDIA H100 NVL", "NVIDIA H200 NVL", "NVIDIA GH200 480GB", "NVIDIA GB200", "NVIDIA H20", "NVIDIA H800"),
    *("NVIDIA A800-SXM4-80GB", "NVIDIA A10G", "NVIDIA L40", "NVIDIA L20", "NVIDIA A2", "NVIDIA T4G", "NVIDIA T400"),
    *(
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "NVIDIA H100 80GB HBM3 MIG 3g.40gb",
        "GRID T4-16Q",
        "NVIDIA A40-48Q",
        "GRID V100D-8Q",
    ),
    *("Tesla V100S-PCIE-32GB", "Tesla V100-SXM2-32GB-LS", "Tesla V100-FHHL-16GB", "Tesla M40 24GB", "Tesla K20X"),
    *("GeForce GTX 1650 Ti", "GeForce MX150", "GeForce RTX 4080 SUPER", "NVIDIA GeForce RTX 4070", "TITAN X (Pascal)"),
    *("Quadro P400", "Quadro GP100", "Quadro P6000", "NVIDIA Graphics Device", "", "一块显卡"),
]


@pytest.mark.parametrize(("slug", "name"), [(slug, name) for slug, names in DRIVER_NAMES.items() for name in names])
def test_driver_names_are_recognised(slug: str, name: str) -> None:
    assert recognise_model(name).slug == slug


@pytest.mark.parametrize("model", [model for model in MODELS if model.vendor == "NVIDIA"], ids=lambda model: model.slug)
def test_every_model_is_recognised_by_its_own_name(model: GpuModel) -> None:
    assert recognise_model(model.name) is model
    assert recognise_model(f"NVIDIA {model.name}") is model
    assert recognise_model(f"NVIDIA GeForce {model.name}") is model


@pytest.mark.parametrize("name", OTHERS)
def test_other_devices_get_a_slug_of_their_own(name: str) -> None:
    model = recognise_model(name)
    assert not model.known
    assert model.slug not in {known.slug for known in MODELS}
    assert 0 < len(model.slug) <= 60
    assert by_slug(model.slug).slug == model.slug


def test_the_table_of_names_is_long() -> None:
    assert sum(map(len, DRIVER_NAMES.values())) >= 100
    assert DRIVER_NAMES.keys() == {model.slug for model in MODELS if model.vendor == "NVIDIA"}
    assert len(set(OTHERS)) >= 50


# The rows of the project's catalogue document: VRAM, FP32, FP16, needs CUDA, source.
DOCUMENT = {
    "titan-xp": ((12,), 12.15, 12.15, "8", "S"),
    "gtx-1080-ti": ((11,), 11.34, 11.34, "8", "S"),
    "rtx-2080-ti": ((11,), 13.45, 53.8, "10", "S"),
    "v100": ((16, 32), 15.7, 125, "9", "S"),
    "rtx-3060": ((12,), 12.74, 24, "11", "S"),
    "rtx-a4000": ((16,), 19.17, 76, "11", "S"),
    "rtx-3080-ti": ((12,), 34.10, 70, "11", "S"),
    "rtx-a5000": ((24,), 27.77, 117, "11", "S"),
    "rtx-3090": ((24,), 35.58, 71, "11", "S"),
    "a40": ((48,), 37.42, 149.7, "11", "S"),
    "a100": ((40, 80), 19.5, 312, "11", "S"),
    "rtx-4090": ((24,), 82.6, 165, "11.8", "D"),
    "rtx-5090": ((32,), 104.8, 210, "12.8", "D"),
    "l4": ((24,), 30.3, 121, "11.8", "D"),
    "l40s": ((48,), 91.6, 362, "11.8", "D"),
    "t4": ((16,), 8.1, 65, "10", "D"),
    "a10": ((24,), 31.2, 125, "11", "D"),
    "a30": ((24,), 10.3, 165, "11", "D"),
    "rtx-a6000": ((48,), 38.7, 155, "11", "D"),
    "p100": ((16,), 9.3, 18.7, "8", "D"),
    "p40": ((24,), 11.8, None, "8", "D"),
    "h100-sxm": ((80,), 67, 989, "11.8", "D"),
    "h100-pcie": ((80,), 51, 756, "11.8", "D"),
    "h200": ((141,), 67, 989, "11.8", "D"),
    "b200": ((192,), 75, 2250, "12.8", "D"),
}


@pytest.mark.parametrize("slug", DOCUMENT)
def test_figures_are_those_of_the_document(slug: str) -> None:
    model = by_slug(slug)
    assert (model.vram_gb, model.fp32_tflops, model.fp16_tflops, model.cuda_min, model.source) == DOCUMENT[slug]


def test_every_figure_has_a_source_and_makes_sense() -> None:
    assert len({model.slug for model in MODELS}) == len(MODELS) == 73
    assert sum(model.fp16_approximate for model in MODELS) == 5
    for model in MODELS:
        assert model.source in ("S", "D")
        assert len(model.bandwidth_gbps) in (0, len(model.vram_gb))
        assert bool(model.compute) == (model.vendor == "NVIDIA")
        if model.fp16_tflops and model.fp32_tflops and model.slug not in ("titan-xp", "gtx-1080-ti"):
            assert model.fp16_tflops > model.fp32_tflops


@pytest.mark.parametrize(
    ("slug", "tensor", "bf16", "fp8", "last"),
    [
        ("k10", False, False, False, "10.2"),
        ("k80", False, False, False, "11.8"),
        ("p100", False, False, False, "12.9"),
        ("gtx-1660-ti", False, False, False, ""),
        ("v100", True, False, False, "12.9"),
        ("t4", True, False, False, ""),
        ("a100", True, True, False, ""),
        ("rtx-3090", True, True, False, ""),
        ("rtx-4090", True, True, True, ""),
        ("h100-sxm", True, True, True, ""),
        ("b200", True, True, True, ""),
        ("ascend-910", False, False, False, ""),
    ],
)
def test_what_each_generation_knows(slug: str, tensor: bool, bf16: bool, fp8: bool, last: str) -> None:
    model = by_slug(slug)
    assert (model.has_tensor_cores, model.has_bf16, model.has_fp8, model.cuda_last) == (tensor, bf16, fp8, last)


def test_other_vendors_are_known_with_their_limits() -> None:
    others = {model.slug: (model.vendor, model.trains) for model in MODELS if model.vendor != "NVIDIA"}
    assert others == {"mlu-200": ("Cambricon", False), "ascend-910": ("Huawei", True)}
    assert "INT8" in str(by_slug("mlu-200").note)
    assert "MindSpore" in str(by_slug("ascend-910").note)
    assert not recognise_model("Ascend 910").known  # today's probe is NVIDIA's


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
